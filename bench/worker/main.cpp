// weft-bench: our side of every race in bench/run.
#include <exception>
#include <fmt/core.h>
#include <string_view>

#include "bench/worker/options.h"

#include "weft/base/error.h"
#include "weft/base/parallel.h"

namespace weft::bench {

namespace {

struct Command {
  std::string_view name;
  void (*run)(const WorkerOptions& options);
};

constexpr Command kCommands[] = {
    {"step", race_step},
    {"matmul", race_matmul},
    {"eager-add", race_eager_add},
    {"curve", follow_curve},
    {"sparse-table", make_sparse_table},
    {"simulated-all-reduce", simulate_all_reduce},
    {"codec", measure_codec},
    {"drift", measure_drift},
    {"convex", check_convex},
    {"simulate-step", simulate_step},
    {"priorities", simulate_priorities},
    {"transfer-orders", simulate_transfer_orders},
    {"crossings", measure_crossings},
    {"recursion", measure_recursion},
    {"planning", measure_planning},
    {"optimized", race_optimized},
    {"within-memory", race_within_memory},
    {"loops", race_loops},
    {"special-values", race_special_values},
    {"narrow", race_narrow},
    {"integer", race_integer},
    {"recurrent", race_recurrent},
    {"trees", race_trees},
    {"task", race_task},
    {"rule", measure_rule},
    {"attacks", train_under_attack},
    {"in-noise", train_in_noise},
    {"batch-norm", race_batch_norm},
    {"ledger", measure_ledger},
    {"budget-kills", measure_budget_kills},
};

void run(const WorkerOptions& options) {
  std::string known;
  for (const Command& command : kCommands) {
    if (command.name == options.command) return command.run(options);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", command.name);
  }
  throw Error(ErrorCode::kInvalidArgument, "weft-bench", "no command '{}'",
              options.command)
      .hint(known);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  try {
    const auto options = weft::bench::parse_options(argc, argv);
    weft::set_thread_count(static_cast<int>(options.integer("threads")));
    weft::bench::run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft-bench: {}\n", error.what());
    return 2;
  }
}
