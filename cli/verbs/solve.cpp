// weft solve PROBLEM GRAPH: greedy problems on graphs, by relaxed and exact
// schedulers.
#include "weft/concurrent/iterative/solve.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <condition_variable>
#include <fmt/core.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/base/stopwatch.h"

namespace weft::cli {
namespace {

struct SolveArguments {
  std::string problem;
  std::string graph;
  std::string scheduler = "multiqueue";
  std::string out;
  bool as_json = false;
  concurrent::SolveOptions options;
};

constexpr const char* kFooter = R"(Problems, and what --out writes of them:
  mis               a maximal set of vertices without an edge: a vertex a line
  matching          a maximal set of edges without a common end: "u v"
  colouring         the smallest colour no earlier neighbour has: "vertex colour"
  list-contraction  a line "u v" of GRAPH says that v follows u; nodes are taken
                    out one by one: "node before after", "-" for nobody
  shuffle           a random order of the vertices, by Knuth: a vertex a line

Schedulers, and what is theirs to set:
  multiqueue  two random queues, the better first entry        --queues
  topk        one of the first k, behind a lock                --relaxation
  heap        the first one, behind a lock
  exact       an array with an atomic head; the blocked wait
  rounds      a prefix at a time                               --prefix
  in-order    the sequential algorithm, on one thread

The solution depends on GRAPH, --priority and --seed alone. A relaxed scheduler
may try a task before one that it depends on: such a try is wasted, and repeated.

  weft solve mis email-Enron.txt.gz --scheduler topk --relaxation 16
  weft solve shuffle graph.txt --out order.txt
  weft solve colouring graph.txt --priority file:order.txt)";

// Says on standard error, once a while, that a long run has not died.
class LongRunNote {
 public:
  LongRunNote() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

 private:
  static constexpr std::chrono::seconds kPeriod{5};

  // The wait ends at once when the run does, not at the end of a period.
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const Stopwatch watch;
    while (!wake_.wait_for(lock, stop, kPeriod, [] { return false; }) &&
           !stop.stop_requested())
      fmt::print(stderr, "solving: {}\n", clock_time(watch.seconds()));
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it stops before what it uses is gone
};

double waste_of(const concurrent::Solution& found) {
  return found.tasks == 0 ? 0
                          : static_cast<double>(found.counts.blocked) /
                                static_cast<double>(found.tasks);
}

void write_rows(const std::string& path, const concurrent::Solution& found) {
  // The file appears under its name when it is whole.
  AtomicFile file(path);
  std::string text;
  // Rows are written in pieces: a line at a time is slow, and a text of all of
  // them may not fit.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    text += found.rows[i] == concurrent::Solution::kNobody
                ? "-"
                : std::to_string(found.rows[i]);
    text += (i + 1) % found.columns == 0 ? '\n' : ' ';
    if (text.size() < kPiece) continue;
    file.write(text);
    text.clear();
  }
  file.write(text);
  file.commit();
}

// What the scheduler was given: its name in the options, and the value.
std::pair<const char*, std::int64_t> knob_of(
    const concurrent::SchedulerOptions& options) {
  switch (options.kind) {
    case concurrent::SchedulerKind::kMultiQueue:
      return {"queues", options.queues};
    case concurrent::SchedulerKind::kTopK:
      return {"relaxation", options.relaxation};
    case concurrent::SchedulerKind::kRounds:
      return {"prefix", options.prefix};
    default:
      // The others have nothing to set.
      return {nullptr, 0};
  }
}

const char* unit_of(concurrent::SolveProblem problem) {
  switch (problem) {
    case concurrent::SolveProblem::kIndependentSet:
      return "vertices in the set";
    case concurrent::SolveProblem::kMatching:
      return "edges in the matching";
    case concurrent::SolveProblem::kColouring:
      return "colours";
    case concurrent::SolveProblem::kListContraction:
      return "lists contracted";
    case concurrent::SolveProblem::kShuffle:
      break;
  }
  return "vertices in a new order";
}

Json json_of(const SolveArguments& arguments,
             const concurrent::Solution& found) {
  Json json = {
      {"problem", arguments.problem},      {"graph", arguments.graph},
      {"vertices", found.vertices},        {"edges", found.edges},
      {"left_out", found.left_out},        {"scheduler", arguments.scheduler},
      {"threads", found.scheduler.threads}};
  if (const auto [name, value] = knob_of(found.scheduler); name != nullptr)
    json[name] = value;
  json.update(Json{{"priority", arguments.options.priority},
                   {"seed", found.scheduler.seed},
                   {"size", found.size},
                   {"tasks", found.tasks},
                   {"tries", found.counts.iterations()},
                   {"wasted", found.counts.blocked},
                   {"waste", number(waste_of(found))},
                   {"seconds", number(found.seconds)},
                   {"certified", found.is_certified}});
  json["out"] = arguments.out.empty() ? Json(nullptr) : Json(arguments.out);
  return json;
}

std::string count(std::uint64_t number) {
  return grouped(static_cast<std::int64_t>(number));
}

void print(const SolveArguments& arguments, const concurrent::Solution& found) {
  const auto row = [](const char* name, const std::string& text) {
    fmt::print("{:<17} {}\n", name, text);
  };
  row("graph",
      fmt::format("{}: {} vertices, {} edges", printable(arguments.graph),
                  count(found.vertices), count(found.edges)));
  if (found.left_out != 0)
    row("", fmt::format("{} lines left out: repeated edges, and those from a "
                        "vertex to itself",
                        count(found.left_out)));
  row(arguments.problem.c_str(),
      fmt::format("{} {}", count(found.size),
                  unit_of(arguments.options.problem)));
  const auto [knob, value] = knob_of(found.scheduler);
  row("scheduler",
      fmt::format(
          "{}, {} thread{}{}", arguments.scheduler, found.scheduler.threads,
          found.scheduler.threads == 1 ? "" : "s",
          knob == nullptr ? "" : fmt::format(", {} {}", knob, grouped(value))));
  row("priority",
      fmt::format("{}, seed {}", printable(arguments.options.priority),
                  found.scheduler.seed));
  row("tries", fmt::format("{} for {} tasks: {} wasted, {:.2f} %",
                           count(found.counts.iterations()), count(found.tasks),
                           count(found.counts.blocked), 100 * waste_of(found)));
  row("time", fmt::format("{:.4g} s, {:.3g} million tasks/s", found.seconds,
                          1e-6 * found.tasks / found.seconds));
  row("certificate", found.is_certified
                         ? "holds: it is what the sequential algorithm gives"
                         : "FAILS");
  if (!arguments.out.empty()) row("written to", printable(arguments.out));
}

void solve(SolveArguments& arguments) {
  concurrent::SolveOptions& options = arguments.options;
  options.problem = concurrent::solve_problem(arguments.problem);
  options.scheduler.kind = concurrent::scheduler_kind(arguments.scheduler);
  // Who works in order has nothing for a second thread to do.
  if (options.scheduler.threads == 0)
    options.scheduler.threads =
        options.scheduler.kind == concurrent::SchedulerKind::kInOrder
            ? 1
            : thread_count();
  // The note lives as long as the solver runs, and no longer.
  const concurrent::Solution found = [&] {
    const LongRunNote note;
    return concurrent::solve(concurrent::read_edge_list(arguments.graph),
                             options);
  }();
  // What is not certified is no solution, and is not written.
  if (!arguments.out.empty() && found.is_certified)
    write_rows(arguments.out, found);
  if (arguments.as_json) {
    print_json(json_of(arguments, found));
  } else {
    print(arguments, found);
  }
  if (!found.is_certified)
    throw Error(ErrorCode::kInternal, "solve",
                "the certificate fails: this is not the greedy solution");
}

void add_solve(CLI::App& verb) {
  auto arguments = std::make_shared<SolveArguments>();
  concurrent::SolveOptions& options = arguments->options;
  verb.add_option("PROBLEM", arguments->problem, "what to look for; see below")
      ->required()
      ->check(CLI::IsMember(concurrent::solve_problem_names()));
  verb.add_option("GRAPH", arguments->graph,
                  "a line \"u v\" for each edge, '#' before comments; .gz too")
      ->required();
  verb.add_option("--scheduler", arguments->scheduler,
                  "who says what is tried next; see below")
      ->check(CLI::IsMember(concurrent::scheduler_names()));
  verb.add_option("--threads", options.scheduler.threads,
                  "as many as there are cores, unless given")
      ->check(CLI::Range(1, 1024));
  verb.add_option("--queues", options.scheduler.queues,
                  "four for each thread, unless given")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--relaxation", options.scheduler.relaxation,
                  "the k of topk: four for each thread, unless given")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--prefix", options.scheduler.prefix,
                  "tasks in a round: a fiftieth of all, unless given")
      ->check(CLI::PositiveNumber);
  verb.add_option("--priority", options.priority,
                  "random, low-degree, high-degree, or file:PATH with a task "
                  "a line, the first one first")
      ->capture_default_str();
  verb.add_option("--seed", options.scheduler.seed,
                  "of random priorities, permutations and queues")
      ->capture_default_str();
  verb.add_option("--out", arguments->out, "write the solution there")
      ->type_name("FILE");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.footer(kFooter);
  // 0 stands for a number that was not given.
  options.scheduler.threads = 0;
  verb.callback([arguments] { solve(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_solve(cli::VerbRegistry& verbs) {
  verbs.add({.name = "solve",
             .summary = "Solve a greedy problem on a graph, on many threads",
             .order = 100,
             .add = cli::add_solve});
}

}  // namespace weft
