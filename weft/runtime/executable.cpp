#include "weft/runtime/executable.h"

#include <algorithm>
#include <unordered_set>

#include "weft/base/hash.h"
#include "weft/compiler/dead_nodes.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/compiler/form_cells.h"
#include "weft/compiler/inline_calls.h"
#include "weft/compiler/sink_constants.h"
#include "weft/runtime/fold_frozen.h"
#include "weft/runtime/optimize.h"

namespace weft {
namespace {

[[noreturn]] void fail_argument(const Function& function, std::size_t index,
                                const std::string& got) {
  const ValueInfo& value = function.value(function.parameters()[index]);
  throw Error(ErrorCode::kInvalidArgument, "@" + function.name(),
              fmt::format("the argument {} does not fit",
                          value.name.empty() ? fmt::format("{}", index)
                                             : "'" + value.name + "'"))
      .detail("wanted: " + to_string(value.type))
      .detail("got:    " + got);
}

std::size_t hash_of_types(std::span<const Tensor> tensors) {
  std::size_t hash = 0;
  for (const Tensor& tensor : tensors) {
    hash = hash_with(hash, static_cast<std::uint64_t>(tensor.dtype()));
    for (const Dim dim : tensor.shape()) {
      hash = hash_with(hash, static_cast<std::uint64_t>(dim));
    }
  }
  return hash;
}

Function entry_of(const Graph& graph, std::string_view name) {
  const Function* found = graph.find(name);
  if (found != nullptr) return *found;
  throw Error(ErrorCode::kInvalidArgument, "graph", "there is no function @{}",
              name);
}

}  // namespace

struct Executable::State {
  // One of the two is there.
  struct Planned {
    std::size_t hash = 0;  // of the arguments' types
    std::vector<TensorType> arguments;
    std::vector<TensorType> results;
    std::optional<Plan> plan;
    std::optional<TaggedExecutor> tagged;
    std::optional<OptimizeReport> report;

    bool takes(std::span<const Tensor> tensors) const {
      return std::equal(arguments.begin(), arguments.end(), tensors.begin(),
                        tensors.end(),
                        [](const TensorType& type, const Tensor& tensor) {
                          return type == tensor.type();
                        });
    }
  };

  State(Graph g, Function f, ExecutableOptions o)
      : graph(std::move(g)), function(std::move(f)), options(std::move(o)) {
    // A function that stands alone has no graph around it to be checked.
    if (has_control(function)) {
      verify(graph);
    } else {
      verify(function);
    }
    freeze_parameters();
  }

  void freeze_parameters();
  void check_donations();
  void check_frozen(std::span<const Tensor> arguments) const;
  Planned& find(std::span<const Tensor> arguments);
  void plan(Planned& planned, const Bindings& bindings);
  void* arena_for(const Plan& plan);
  Function searched(Planned& planned, const Bindings& bindings);
  void lower_to_tagged(Planned& planned);
  std::vector<Tensor> run_tagged(TaggedExecutor& tagged,
                                 std::span<const Tensor> arguments,
                                 std::span<const Tensor> destinations);

  Graph graph;  // empty unless the function branches, loops or calls
  Function function;
  // The same with constants, where parameters are frozen: what is planned.
  std::optional<Function> frozen;
  ExecutableOptions options;
  // One per combination of shapes, the one that was used last in front.
  std::vector<std::unique_ptr<Planned>> plans;
  Tensor arena;  // shared by all plans, as large as the largest needs
  std::vector<void*> argument_pointers;
  std::vector<void*> result_pointers;
};

Executable::Executable(Function function, ExecutableOptions options)
    : state_(std::make_unique<State>(Graph(), std::move(function),
                                     std::move(options))) {
  state_->check_donations();
}

Executable::Executable(Graph graph, std::string_view entry,
                       ExecutableOptions options) {
  Function function = entry_of(graph, entry);
  state_ = std::make_unique<State>(std::move(graph), std::move(function),
                                   std::move(options));
  state_->check_donations();
}

void Executable::State::freeze_parameters() {
  if (options.frozen.empty()) return;
  const bool may_round = options.fuse && !options.check_numerics;
  frozen = fold_frozen(function, options.frozen,
                       {.may_round = may_round, .without = options.without});
  for (Function& each : graph.functions) {
    if (each.name() == function.name()) each = *frozen;
  }
  graph = sink_constants(std::move(graph), function.name());
  // A plan finds cells by itself. Bodies of loops are cut into regions, after
  // which none is whole any more.
  const bool may_form =
      may_round && std::ranges::find(options.without, "form_recurrent_cells") ==
                       options.without.end();
  if (!may_form) return;
  for (Function& each : graph.functions) {
    each = eliminate_dead_nodes(form_cells(each));
  }
}

void Executable::State::check_frozen(std::span<const Tensor> arguments) const {
  for (const auto& [parameter, value] : options.frozen) {
    if (arguments[parameter].raw() == value.raw()) continue;
    throw Error(ErrorCode::kInvalidArgument, "@" + function.name(),
                "the parameter '{}' is frozen, and this is another tensor",
                function.value(function.parameters()[parameter]).name)
        .hint("plan anew for other values, or freeze nothing that changes");
  }
}

void Executable::State::check_donations() {
  const Function& f = function;
  WEFT_CHECK(options.most_plans > 0);
  for (const auto& [parameter, result] : options.donated) {
    for (const auto& [index, value] : options.frozen) {
      if (index != parameter) continue;
      throw Error(ErrorCode::kInvalidArgument, "@" + f.name(),
                  "the parameter '{}' is frozen, and cannot be donated",
                  f.value(f.parameters()[parameter]).name);
    }
    WEFT_CHECK(parameter < f.parameters().size() &&
               result < f.results().size());
    const TensorType& from = f.type(f.parameters()[parameter]);
    const TensorType& to = f.type(f.results()[result]);
    if (!(from == to)) {
      throw Error(ErrorCode::kInvalidArgument, "@" + f.name(),
                  "the parameter '{}' cannot be donated to result {}",
                  f.value(f.parameters()[parameter]).name, result)
          .detail("parameter: " + to_string(from))
          .detail("result:    " + to_string(to));
    }
  }
  std::unordered_set<std::size_t> parameters, results;
  for (const auto& [parameter, result] : options.donated) {
    const bool is_new = parameters.insert(parameter).second;
    if (results.insert(result).second && is_new) continue;
    throw Error(ErrorCode::kInvalidArgument, "@" + f.name(),
                "the parameter '{}' is donated to result {}, and one of the "
                "two shares memory with another already",
                f.value(f.parameters()[parameter]).name, result)
        .hint("donate each parameter once, and each to a result of its own");
  }
  // Room is taken here, so that a run allocates nothing.
  argument_pointers.resize(f.parameters().size());
  result_pointers.resize(f.results().size());
}

Executable::~Executable() = default;
Executable::Executable(Executable&&) noexcept = default;

const Function& Executable::function() const { return state_->function; }

bool Executable::is_tagged() const { return has_control(state_->function); }

Executable::State::Planned& Executable::State::find(
    std::span<const Tensor> arguments) {
  // The hash spares comparing shapes with every plan; takes() decides.
  const std::size_t hash = hash_of_types(arguments);
  const auto known = std::find_if(
      plans.begin(), plans.end(), [&](const std::unique_ptr<Planned>& planned) {
        return planned->hash == hash && planned->takes(arguments);
      });
  if (known != plans.end()) {
    // Shapes that come again, as those of full batches do, stand in front, and
    // those not used for longest are forgotten.
    std::rotate(plans.begin(), known, known + 1);
    return *plans.front();
  }
  if (arguments.size() != function.parameters().size()) {
    throw Error(ErrorCode::kInvalidArgument, "@" + function.name(),
                "takes {} arguments, got {}", function.parameters().size(),
                arguments.size());
  }
  // From here on the combination is new: what follows may be slow.
  Bindings bindings;
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TensorType& wanted = function.type(function.parameters()[i]);
    if (wanted.dtype != arguments[i].dtype() ||
        !match(wanted.shape, arguments[i].shape(), bindings)) {
      fail_argument(function, i, to_string(arguments[i].type()));
    }
    types.push_back(arguments[i].type());
  }
  auto planned = std::make_unique<Planned>();
  // The types are kept, not the arguments: these must not live on with the
  // plan.
  planned->arguments = std::move(types);
  planned->hash = hash;
  if (has_control(function)) {
    lower_to_tagged(*planned);
  } else {
    plan(*planned, bindings);
  }
  if (plans.size() >= options.most_plans) plans.pop_back();
  return **plans.insert(plans.begin(), std::move(planned));
}

void Executable::State::plan(Planned& planned, const Bindings& bindings) {
  const Function specialized =
      options.search ? searched(planned, bindings)
                     : specialize(frozen ? *frozen : function, bindings);
  planned.plan.emplace(
      specialized,
      // A fused step keeps values to itself, and an error could not name the
      // op.
      PlanOptions{options.donated, options.fuse && !options.check_numerics,
                  options.check_numerics, options.without, options.batch_norm,
                  options.memory_limit});
  planned.results = planned.plan->result_types();
  arena_for(*planned.plan);
}

// Runs come one after the other, so that all plans can use one arena. Planning
// takes it, and every run asks for it again: a plan for which there was no
// memory has given up that of the others.
void* Executable::State::arena_for(const Plan& plan) {
  const std::size_t bytes = plan.arena_bytes();
  if (!arena.is_defined() || arena.bytes() < bytes) {
    arena = Tensor();  // free the old one before the new one is taken
    arena = Tensor::empty({DType::kU8, {static_cast<Dim>(bytes)}});
  }
  return arena.raw();
}

// Rules see frozen parameters as such: what they make of them is folded behind
// the search.
Function Executable::State::searched(Planned& planned,
                                     const Bindings& bindings) {
  std::vector<bool> is_frozen(function.parameters().size());
  for (const auto& [parameter, value] : options.frozen) {
    is_frozen[parameter] = true;
  }
  Optimized optimized = optimize(specialize(function, bindings), is_frozen, {},
                                 {.search = *options.search,
                                  .without = options.without,
                                  .batch_norm = options.batch_norm});
  planned.report = std::move(optimized.report);
  return fold_frozen(optimized.function, options.frozen);
}

void Executable::State::lower_to_tagged(Planned& planned) {
  if (options.search) {
    throw Error(ErrorCode::kUnsupported, "@" + function.name(),
                "it branches, loops or calls, and only functions that have one "
                "plan are searched for faster ones");
  }
  if (options.memory_limit) {
    throw Error(ErrorCode::kUnsupported, "@" + function.name(),
                "it branches, loops or calls, and only functions that have one "
                "plan are fitted into a given memory")
        .hint("max_frames bounds what is alive at once");
  }
  TaggedOptions tagged = options.tagged;
  tagged.check_numerics = tagged.check_numerics || options.check_numerics;
  tagged.fuse = tagged.fuse && options.fuse;
  tagged.without = options.without;
  tagged.batch_norm = options.batch_norm;
  // Regions have plans of their own, which are made with these options.
  tagged.donated = options.donated;
  FlatGraph flat = lower(graph, function.name(), planned.arguments);
  for (const Endpoint result : flat.body(0).results) {
    planned.results.push_back(flat.type(result));
  }
  planned.tagged.emplace(std::move(flat), std::move(tagged));
}

// The results have memory of their own: an argument that is returned may be
// overwritten by the caller, or by another result that it was donated to.
std::vector<Tensor> Executable::State::run_tagged(
    TaggedExecutor& tagged, std::span<const Tensor> arguments,
    std::span<const Tensor> destinations) {
  std::vector<Tensor> results = tagged.run(arguments, destinations);
  std::unordered_set<const void*> taken;
  for (std::size_t i = 0; i < results.size(); ++i) {
    Tensor& result = results[i];
    if (!destinations.empty() && result.raw() == destinations[i].raw()) {
      continue;
    }
    // A function may return an argument, or a view of one; or a value twice.
    if (!taken.insert(result.raw()).second ||
        std::any_of(arguments.begin(), arguments.end(), [&](const Tensor& a) {
          return a.shares_memory_with(result);
        })) {
      result = result.clone();
    }
  }
  return results;
}

Plan& Executable::plan_for(std::span<const Tensor> arguments) {
  State::Planned& planned = state_->find(arguments);
  if (planned.plan) return *planned.plan;
  throw Error(ErrorCode::kUnsupported, "@" + state_->function.name(),
              "it branches, loops or calls, so it has no single plan")
      .hint("tagged_for() gives its executor");
}

TaggedExecutor& Executable::tagged_for(std::span<const Tensor> arguments) {
  State::Planned& planned = state_->find(arguments);
  if (planned.tagged) return *planned.tagged;
  throw Error(ErrorCode::kUnsupported, "@" + state_->function.name(),
              "it neither branches nor loops nor calls: it has one plan")
      .hint("plan_for() gives it");
}

const OptimizeReport* Executable::optimize_report_for(
    std::span<const Tensor> arguments) {
  const State::Planned& planned = state_->find(arguments);
  return planned.report ? &*planned.report : nullptr;
}

std::vector<TensorType> Executable::result_types(
    std::span<const Tensor> arguments) {
  return state_->find(arguments).results;
}

void Executable::run(std::span<const Tensor> arguments,
                     std::span<const Tensor> results, RunObserver* observer) {
  State& state = *state_;
  State::Planned& planned = state.find(arguments);
  state.check_frozen(arguments);
  const auto& types = planned.results;
  if (results.size() != types.size()) {
    throw Error(ErrorCode::kInvalidArgument, "@" + state.function.name(),
                "returns {} results, got room for {}", types.size(),
                results.size());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!(results[i].type() == types[i])) {
      throw Error(ErrorCode::kInvalidArgument, "@" + state.function.name(),
                  "result {} is {}, got room for {}", i, to_string(types[i]),
                  to_string(results[i].type()));
    }
    state.result_pointers[i] = results[i].raw();
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    state.argument_pointers[i] = arguments[i].raw();
  }
  // A plan writes the result at the address of the argument: another tensor
  // there would be left as it was.
  for (const auto& [parameter, result] : state.options.donated) {
    WEFT_CHECK(
        state.argument_pointers[parameter] == state.result_pointers[result],
        "a donated result must be the argument it overwrites");
  }
  if (planned.plan) {
    planned.plan->run(state.argument_pointers, state.result_pointers,
                      state.arena_for(*planned.plan), observer);
    return;
  }
  if (observer != nullptr) {
    // Which activation reads what first is not known beforehand.
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      observer->before_argument(i);
    }
  }
  const auto made = state.run_tagged(*planned.tagged, arguments, results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Copies come after the run, when nothing reads the donated arguments any
    // more.
    if (made[i].raw() != results[i].raw()) results[i].copy_from(made[i]);
    if (observer != nullptr) observer->on_result(i);
  }
}

std::vector<Tensor> Executable::run(std::span<const Tensor> arguments) {
  State::Planned& planned = state_->find(arguments);
  // The executor takes memory for results as they come, so none need be taken
  // before.
  if (planned.tagged && state_->options.donated.empty()) {
    state_->check_frozen(arguments);
    return state_->run_tagged(*planned.tagged, arguments, {});
  }
  std::vector<Tensor> results = destinations(arguments);
  run(arguments, results);
  return results;
}

std::vector<Tensor> Executable::run_consuming(
    std::span<const Tensor> arguments) {
  State::Planned& planned = state_->find(arguments);
  if (!planned.tagged || state_->options.donated.empty()) return run(arguments);
  state_->check_frozen(arguments);
  return state_->run_tagged(*planned.tagged, arguments,
                            destinations(arguments));
}

// New memory for results, but for those that overwrite an argument.
std::vector<Tensor> Executable::destinations(
    std::span<const Tensor> arguments) {
  std::vector<Tensor> results;
  for (const TensorType& type : state_->find(arguments).results) {
    results.push_back(Tensor::empty(type));
  }
  // A donated result lies in its argument, which the caller gives up.
  for (const auto& [parameter, result] : state_->options.donated) {
    results[result] = arguments[parameter];
  }
  return results;
}

}  // namespace weft
