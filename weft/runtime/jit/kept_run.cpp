#include "weft/runtime/jit/kept_run.h"

#include <algorithm>

#include "weft/autodiff/gradient.h"
#include "weft/graph/inlining.h"
#include "weft/graph/program.h"
#include "weft/ops/control.h"
#include "weft/ops/stop_gradient.h"
#include "weft/runtime/tagged/lowering.h"

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

// (inputs | seeds) -> (results | gradients), by one call and its gradient: the
// call of a joint function, which is entered twice (graph/phases.h).
Graph entered_twice(const Graph& graph, std::size_t outputs,
                    const std::vector<bool>& wrt) {
  const Function& function = graph.functions.front();
  Program program(graph);
  const FunctionRef forward = differentiated(program, function, wrt);
  FunctionBuilder& builder =
      program.builder(program.unique_name(function.name() + ".kept"));
  const FunctionRef entry = program.add(builder.build([&] {
    const auto parameters = add_parameters(builder, function);
    std::vector<Value> results = call(forward, parameters);
    std::vector<Value> roots;
    std::vector<Value> seeds;
    for (std::size_t i = 0; i < outputs; ++i) {
      if (!is_floating(results[i].dtype())) continue;
      roots.push_back(results[i]);
      seeds.push_back(builder.parameter(results[i].type()));
    }
    std::vector<Value> wanted;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (wrt[i]) wanted.push_back(parameters[i]);
    }
    for (Value& gradient : gradients(builder, roots, seeds, wanted)) {
      results.push_back(std::move(gradient));
    }
    return results;
  }));
  Graph made = program.build();
  const auto first =
      std::find_if(made.functions.begin(), made.functions.end(),
                   [&](const Function& f) { return f.name() == entry.name; });
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
                   const std::vector<bool>& wrt, TaggedOptions options)
    : graph_(entered_twice(graph, outputs, wrt)),
      inputs_(wrt.size()),
      results_(graph.functions.front().results().size()),
      options_(std::move(options)) {}

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
    if (i >= key.size()) {
      types.push_back({type.dtype, substitute(type.shape, bindings)});
    } else if (type.dtype != key[i].dtype ||
               !match(type.shape, key[i].shape, bindings)) {
      throw Error(ErrorCode::kInvalidArgument, "@" + entry.name(),
                  "the argument {} is {} where {} is wanted", i,
                  to_string(key[i]), to_string(type));
    }
  }
  const std::size_t late = types.size() - key.size();
  return std::make_unique<TaggedExecutor>(
      lower(graph_, entry.name(), types, {}, late), options_);
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
  for (std::size_t i = inputs_; i < flat.body(0).parameters.size(); ++i) {
    run->seed_types_.push_back(flat.type({flat.body(0).parameters[i], 0}));
  }
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
  executor_->drop();
  runs_->give(key_, std::move(executor_));
}

std::vector<Tensor> KeptRun::backward(std::span<const Tensor> seeds) {
  WEFT_CHECK(is_kept() && seeds.size() == seed_types_.size());
  std::vector<Tensor> late(seeds.begin(), seeds.end());
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (!late[i].is_defined()) late[i] = Tensor::zeros(seed_types_[i]);
  }
  auto executor = std::move(executor_);
  const std::vector<Tensor> all = executor->go_on(late);
  runs_->give(key_, std::move(executor));
  return {all.begin() + static_cast<std::ptrdiff_t>(results_.size()),
          all.end()};
}

}  // namespace weft
