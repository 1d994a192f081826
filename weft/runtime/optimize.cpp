#include "weft/runtime/optimize.h"

#include <algorithm>

#include "weft/base/stopwatch.h"
#include "weft/compiler/frozen.h"
#include "weft/compiler/frozen_rules.h"
#include "weft/compiler/inline_calls.h"
#include "weft/compiler/search.h"
#include "weft/compiler/stand_ins.h"
#include "weft/runtime/plan/plan.h"

namespace weft {
namespace {

// What is not faster by so much has won nothing: noise would decide.
constexpr double kLeastGain = 0.99;
constexpr std::size_t kLeastRounds = 7;
constexpr double kSecondsOfRace = 0.5;

// What is left of a function behind its preparation, with constants in the
// place of what was prepared.
Function prepared(const Function& function, const std::vector<bool>& is_frozen,
                  const Bindings& dims) {
  const auto first =
      static_cast<std::size_t>(std::ranges::count(is_frozen, false));
  return StandIns().put(
      specialize(split_frozen(function, is_frozen).rest, dims), first);
}

// A plan with memory to run in.
class Runner {
 public:
  Runner(const Function& function, const std::vector<bool>& is_frozen,
         const Bindings& dims, const OptimizeOptions& options)
      : function_(prepared(function, is_frozen, dims)),
        plan_(function_,
              {.without = options.without, .batch_norm = options.batch_norm}) {
    for (const ValueId id : function_.parameters()) {
      add(function_.type(id), arguments_);
    }
    for (const TensorType& type : plan_.result_types()) add(type, results_);
    add({DType::kU8, {static_cast<Dim>(plan_.arena_bytes())}}, arena_);
  }

  double run() {
    const Stopwatch watch;
    plan_.run(arguments_, results_, arena_.front());
    return watch.seconds();
  }

 private:
  void add(const TensorType& type, std::vector<void*>& addresses) {
    tensors_.push_back(stand_in(type));
    addresses.push_back(tensors_.back().raw());
  }

  Function function_;
  Plan plan_;
  std::vector<Tensor> tensors_;
  std::vector<void*> arguments_, results_, arena_;
};

// The least seconds of each, which run in turns: what else the machine does
// only makes a run longer.
std::vector<double> race(std::vector<Runner>& runners) {
  std::vector<double> least(runners.size(), 1e30);
  for (Runner& runner : runners) runner.run();
  const Stopwatch all;
  for (std::size_t round = 0;
       round < kLeastRounds || all.seconds() < kSecondsOfRace; ++round) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      least[i] = std::min(least[i], runners[i].run());
    }
  }
  return least;
}

struct Contender {
  std::string name;
  SearchResult search;
};

void require_plan(const Function& function, const Bindings& dims) {
  if (has_control(function)) {
    throw Error(ErrorCode::kUnsupported, "@" + function.name(),
                "it branches, loops or calls, and the search takes functions "
                "that have one plan")
        .hint("optimize the functions that it calls");
  }
  for (const Node& node : function.nodes()) {
    if (!node.op->has(kCollective) && !node.op->has(kHost)) continue;
    throw Error(ErrorCode::kUnsupported, "@" + function.name(),
                "{} would meet other ranks, or run code of the program, each "
                "time that it is measured",
                node.op->name());
  }
  for (const ValueId id : function.parameters()) {
    if (determines(dims, function.type(id).shape)) continue;
    throw Error(ErrorCode::kUnsupported, "@" + function.name(),
                "nothing says how large {} is", to_string(function.type(id)));
  }
}

void note(const SearchResult& search, OptimizeReport& report) {
  report.predicted_after = search.after;
  report.steps = search.taken;
  report.refused = search.refused;
}

void count(const SearchResult& search, OptimizeReport& report) {
  report.parts = std::max(report.parts, search.parts);
  report.expanded += search.expanded;
  report.tried += search.tried;
  report.timed += search.timed;
  report.is_out_of_time = report.is_out_of_time || search.is_out_of_time;
}

}  // namespace

Optimized optimize(const Function& given, const std::vector<bool>& is_frozen,
                   const Bindings& dims, const OptimizeOptions& options) {
  require_plan(given, dims);
  // What always pays is where the search begins.
  const Function function =
      apply_frozen_rules(given, is_frozen, options.without);
  CostTable table = CostTable::of_machine();
  if (!table.complaint().empty()) {
    fmt::print(stderr, "weft: step times: {}\n", table.complaint());
  }
  FunctionCosts costs(table, {.dims = dims,
                              .passes = {.without = options.without},
                              .batch_norm = options.batch_norm});
  // The greedy search comes first: what it finds costs the relaxed one nothing
  // to time again.
  std::vector<Contender> contenders;
  SearchOptions greedy = options.search;
  greedy.alpha = 1;
  contenders.push_back({"greedy", search(function, is_frozen, costs, greedy)});
  if (options.search.alpha > 1) {
    contenders.push_back(
        {"relaxed", search(function, is_frozen, costs, options.search)});
  }
  table.keep();

  Optimized result{function, {}};
  OptimizeReport& report = result.report;
  report.predicted_before = report.predicted_after =
      contenders[0].search.before;
  report.refused = contenders.back().search.refused;
  for (const Contender& each : contenders) count(each.search, report);
  // What no rule changed needs no race against itself.
  std::erase_if(contenders, [](const Contender& each) {
    return each.search.taken.empty();
  });
  std::vector<Runner> runners;
  runners.emplace_back(function, is_frozen, dims, options);
  for (const Contender& each : contenders) {
    runners.emplace_back(each.search.function, is_frozen, dims, options);
  }
  const std::vector<double> seconds = race(runners);
  report.measured_before = report.measured_after = seconds[0];
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    // The later one, which searched further, must be clearly faster.
    if (!(seconds[i + 1] < kLeastGain * report.measured_after)) continue;
    result.function = contenders[i].search.function;
    report.taken = contenders[i].name;
    report.measured_after = seconds[i + 1];
    note(contenders[i].search, report);
  }
  return result;
}

}  // namespace weft
