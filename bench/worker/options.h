// The worker's command line: COMMAND [MODEL] --name value …
#pragma once

#include <map>
#include <string>

namespace weft::bench {

struct WorkerOptions {
  std::string command;
  std::string model;
  std::map<std::string, std::string> values;  // "batch" -> "128"
  bool no_tape = false;

  // Throws Error(kInvalidArgument) if it is missing.
  const std::string& text(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
};

WorkerOptions parse_options(int argc, char** argv);

void race_step(const WorkerOptions& options);
void race_matmul(const WorkerOptions& options);
void race_eager_add(const WorkerOptions& options);
void follow_curve(const WorkerOptions& options);
void make_sparse_table(const WorkerOptions& options);
void simulate_all_reduce(const WorkerOptions& options);
void measure_codec(const WorkerOptions& options);
void measure_drift(const WorkerOptions& options);
void check_convex(const WorkerOptions& options);
void simulate_step(const WorkerOptions& options);
void simulate_priorities(const WorkerOptions& options);
void simulate_transfer_orders(const WorkerOptions& options);
void measure_crossings(const WorkerOptions& options);
void measure_recursion(const WorkerOptions& options);
void measure_planning(const WorkerOptions& options);
void race_optimized(const WorkerOptions& options);
void race_within_memory(const WorkerOptions& options);
void race_loops(const WorkerOptions& options);
void race_special_values(const WorkerOptions& options);
void race_narrow(const WorkerOptions& options);
void race_integer(const WorkerOptions& options);
void race_recurrent(const WorkerOptions& options);
void race_trees(const WorkerOptions& options);
void race_task(const WorkerOptions& options);
void measure_rule(const WorkerOptions& options);
void train_under_attack(const WorkerOptions& options);
void train_in_noise(const WorkerOptions& options);
void race_batch_norm(const WorkerOptions& options);
void measure_ledger(const WorkerOptions& options);
void measure_budget_kills(const WorkerOptions& options);

}  // namespace weft::bench
