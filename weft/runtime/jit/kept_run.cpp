#include "weft/runtime/jit/kept_run.h"

#include <algorithm>
#include <numeric>

#include "weft/autodiff/gradient.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/graph/inlining.h"
#include "weft/graph/program.h"
#include "weft/ops/control.h"
#include "weft/ops/stop_gradient.h"

namespace weft {
namespace {

// Executors of one function that wait for their next run. A tape around a loop
// keeps as many runs as the loop has steps, and the next loop takes them again.
constexpr std::size_t kMostIdle = 64;

// `function` as one that others call: what is not differentiated gets no
// gradient, so that none is computed for it.
FunctionRef differentiated(Program& program, const Function& function,
                           const std::vector<bool>& wrt) {
  FunctionBuilder& builder =
      program.builder(program.unique_name(function.name() + ".forward"));
  return program.add(builder.build([&] {
    auto parameters = add_parameters(builder, function);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!wrt[i] && is_floating(parameters[i].dtype())) {
        parameters[i] = stop_gradient(parameters[i]);
      }
    }
    return inlined_results(builder, function, parameters);
  }));
}

std::vector<Value> floating(std::span<const Value> values) {
  std::vector<Value> found;
  for (const Value& value : values) {
    if (is_floating(value.dtype())) found.push_back(value);
  }
  return found;
}

// A phase of the run: what comes in, and what goes out.
struct Part {
  std::vector<Value> arguments;
  std::vector<Value> results;
};

// The phases that are the gradient of these, in the order in which they run;
// their arguments become parameters.
std::vector<Part> adjoints(FunctionBuilder& builder,
                           const std::vector<Part>& parts) {
  std::vector<Part> made;
  std::vector<Value> roots, seeds, wanted;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    made.emplace_back();
    for (const Value& root : part->results) {
      made.back().arguments.push_back(builder.parameter(root.type()));
    }
    const auto append = [](auto& to, const auto& more) {
      to.insert(to.end(), more.begin(), more.end());
    };
    append(roots, part->results);
    append(seeds, made.back().arguments);
    append(wanted, part->arguments);
  }
  // One gradient of all phases together: each later phase adds what flows to
  // earlier ones.
  auto gradient = gradients(builder, roots, seeds, wanted);
  auto next = gradient.begin();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto count = static_cast<std::ptrdiff_t>(
        parts[parts.size() - 1 - i].arguments.size());
    made[i].results.assign(next, next + count);
    next += count;
  }
  return made;
}

// (inputs | seeds | …) -> (results | gradients | …), by one call and its
// gradient: the call of a joint function, which is entered again and again
// (graph/phases.h). `parts` gets the phases, whose values mean nothing any more
// but their number.
Graph in_phases(const Graph& graph, std::size_t outputs,
                const std::vector<bool>& wrt, std::size_t order,
                std::vector<Part>& parts) {
  const Function& function = graph.functions.front();
  Program program(graph);
  const FunctionRef forward = differentiated(program, function, wrt);
  FunctionBuilder& builder =
      program.builder(program.unique_name(function.name() + ".kept"));
  const FunctionRef entry = program.add(builder.build([&] {
    const auto parameters = add_parameters(builder, function);
    std::vector<Value> results = call(forward, parameters);
    parts.push_back({{}, floating(std::span(results).first(outputs))});
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (wrt[i]) parts[0].arguments.push_back(parameters[i]);
    }
    for (std::size_t i = 0; i < order; ++i) {
      const auto more = adjoints(builder, parts);
      parts.insert(parts.end(), more.begin(), more.end());
    }
    for (std::size_t i = 1; i < parts.size(); ++i) {
      results.insert(results.end(), parts[i].results.begin(),
                     parts[i].results.end());
    }
    return results;
  }));
  Graph made = program.build();
  const auto first =
      std::find_if(made.functions.begin(), made.functions.end(),
                   [&](const Function& f) { return f.name() == entry.name; });
  // A graph's entry is its first function.
  std::rotate(made.functions.begin(), first, first + 1);
  return made;
}

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

}  // namespace

KeptRuns::KeptRuns(const Graph& graph, std::size_t outputs,
                   const std::vector<bool>& wrt, std::size_t order,
                   TaggedOptions options)
    : inputs_(wrt.size()),
      results_(graph.functions.front().results().size()),
      options_(std::move(options)) {
  std::vector<Part> parts;
  graph_ = in_phases(graph, outputs, wrt, order, parts);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    seeds_.push_back(parts[i].arguments.size());
    gradients_.push_back(parts[i].results.size());
  }
}

std::unique_ptr<TaggedExecutor> KeptRuns::take(
    const std::vector<TensorType>& key) {
  {
    const std::lock_guard lock(mutex_);
    const auto known =
        std::find_if(idle_.begin(), idle_.end(),
                     [&](const Idle& idle) { return idle.key == key; });
    if (known != idle_.end()) {
      auto executor = std::move(known->executor);
      idle_.erase(known);
      return executor;
    }
  }
  const Function& entry = graph_.functions.front();
  Bindings bindings;
  std::vector<TensorType> types = key;
  for (std::size_t i = 0; i < entry.parameters().size(); ++i) {
    const TensorType& type = entry.type(entry.parameters()[i]);
    // Behind the inputs stand the seeds, whose sizes follow from those of the
    // inputs.
    if (i >= key.size()) {
      types.push_back({type.dtype, substitute(type.shape, bindings)});
    } else if (type.dtype != key[i].dtype ||
               !match(type.shape, key[i].shape, bindings)) {
      throw Error(ErrorCode::kInvalidArgument, "@" + entry.name(),
                  "the argument {} is {} where {} is wanted", i,
                  to_string(key[i]), to_string(type));
    }
  }
  return std::make_unique<TaggedExecutor>(
      lower(graph_, entry.name(), types, seeds_), options_);
}

void KeptRuns::give(const std::vector<TensorType>& key,
                    std::unique_ptr<TaggedExecutor> executor) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back({key, std::move(executor)});
}

std::shared_ptr<KeptRun> KeptRuns::forward(std::span<const Tensor> arguments) {
  WEFT_CHECK(arguments.size() == inputs_);
  const std::vector<TensorType> key = types_of(arguments);
  // An executor whose run has thrown is not given back.
  std::unique_ptr<TaggedExecutor> executor = take(key);
  std::vector<Tensor> results = executor->begin(arguments);
  std::shared_ptr<KeptRun> run(new KeptRun(shared_from_this(), key));
  const FlatGraph& flat = executor->graph();
  std::size_t next = inputs_;
  for (const std::size_t count : seeds_) {
    auto& types = run->seed_types_.emplace_back();
    for (const std::size_t end = next + count; next < end; ++next) {
      types.push_back(flat.type({flat.body(0).parameters[next], 0}));
    }
  }
  // A gradient that needs no seed is there already.
  run->gradients_.assign(
      results.begin() + static_cast<std::ptrdiff_t>(results_), results.end());
  results.resize(results_);
  for (Tensor& result : results) {
    // A function may return an argument, which its caller may overwrite.
    if (std::any_of(arguments.begin(), arguments.end(), [&](const Tensor& a) {
          return a.shares_memory_with(result);
        })) {
      result = result.clone();
    }
  }
  run->results_ = std::move(results);
  run->executor_ = std::move(executor);
  return run;
}

KeptRun::KeptRun(std::shared_ptr<KeptRuns> runs, std::vector<TensorType> key)
    : runs_(std::move(runs)), key_(std::move(key)) {}

KeptRun::~KeptRun() {
  if (executor_ == nullptr) return;
  // A tape that goes away before its last phase leaves a run in the middle,
  // which is given up before another one begins.
  executor_->drop();
  runs_->give(key_, std::move(executor_));
}

std::vector<Tensor> KeptRun::enter(std::span<const Tensor> seeds) {
  WEFT_CHECK(executor_ != nullptr, "all phases have run");
  const auto& types = seed_types_[next_phase_ - 1];
  WEFT_CHECK(seeds.size() == types.size());
  std::vector<Tensor> late(seeds.begin(), seeds.end());
  for (std::size_t i = 0; i < late.size(); ++i) {
    // The phase was built for seeds of all results; where nothing arrived,
    // nothing flows.
    if (!late[i].is_defined()) late[i] = Tensor::zeros(types[i]);
  }
  // An executor whose run has thrown is not given back.
  auto executor = std::move(executor_);
  const std::vector<Tensor> more = executor->go_on(late);
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    const Tensor& gradient = more[results_.size() + i];
    if (gradient.is_defined()) gradients_[i] = gradient;
  }
  const auto& counts = runs_->gradients_;
  const auto before = std::accumulate(
      counts.begin(),
      counts.begin() + static_cast<std::ptrdiff_t>(next_phase_ - 1),
      std::size_t{0});
  const auto first = gradients_.begin() + static_cast<std::ptrdiff_t>(before);
  std::vector<Tensor> own(
      first, first + static_cast<std::ptrdiff_t>(counts[next_phase_ - 1]));
  if (++next_phase_ < phase_count()) {
    executor_ = std::move(executor);
  } else {
    runs_->give(key_, std::move(executor));
    gradients_.clear();
  }
  return own;
}

}  // namespace weft
