#include "weft/train/private_optimizer.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "weft/autodiff/gradient.h"
#include "weft/base/refusal.h"
#include "weft/graph/inlining.h"
#include "weft/graph/program.h"
#include "weft/nn/scope.h"
#include "weft/runtime/jit/jit.h"
#include "weft/tensor/symbol.h"
#include "weft/train/step/example_sums.h"

namespace weft {
namespace {

Error wrong(std::string message) {
  return Error(ErrorCode::kInvalidArgument, "private optimizer",
               std::move(message));
}

const TensorType kKeyType{DType::kI64, {2}};

}  // namespace

// A function of which the variables that it reads become parameters as they are
// met.
class PrivateOptimizer::VariableBuilder : public FunctionBuilder {
 public:
  using FunctionBuilder::FunctionBuilder;

  void take(const VariableRef& variable) {
    // Variables of several layers may have one name.
    bind(variable, parameter(variable->type));
    variables_.push_back(variable);
  }
  const std::vector<VariableRef>& variables() const { return variables_; }

  Value read(const VariableRef& variable) override {
    if (std::ranges::find(variables_, variable) == variables_.end()) {
      take(variable);
    }
    return FunctionBuilder::read(variable);
  }
  void assign(const VariableRef& variable, const Value&) override {
    throw refused("private optimizer", "private training",
                  {fmt::format("a loss that assigns '{}'", variable->name),
                   "what it keeps of examples has no noise",
                   "group_norm or layer_norm in the place of batch_norm, and a "
                   "model that begins anew with each example"});
  }

 private:
  std::vector<VariableRef> variables_;
};

namespace {

// The same function with all `variables` in front, of which the first `trained`
// stood there; a key and `inputs` tensors follow them.
Function with_variables_first(FunctionBuilder& builder, const Function& loss,
                              std::size_t trained,
                              const std::vector<VariableRef>& variables,
                              std::size_t inputs) {
  std::vector<Value> shared;
  for (const VariableRef& variable : variables) {
    shared.push_back(builder.parameter(variable->type));
  }
  const auto others = shared.begin() + static_cast<std::ptrdiff_t>(trained);
  std::vector<Value> arguments(shared.begin(), others);
  for (std::size_t i = 0; i <= inputs; ++i) {
    const ValueId id = loss.parameters()[trained + i];
    arguments.push_back(builder.parameter(loss.type(id)));
  }
  arguments.insert(arguments.end(), others, shared.end());
  return builder.build(
      [&] { return inlined_results(builder, loss, arguments); });
}

privacy::Mechanisms found_noise(const PrivateLoop& options,
                                const PoissonOrder& order) {
  if (options.noise > 0) {
    return privacy::dp_sgd(options.noise, order.rate(), 1);
  }
  return privacy::with_least_noise(
      privacy::dp_sgd(1, order.rate(), options.steps),
      {options.epsilon, options.delta}, options.accounting);
}

PrivateLoop checked(const PrivateLoop& options) {
  const auto is_positive = [](double x) { return x > 0 && std::isfinite(x); };
  if (is_positive(options.noise) == is_positive(options.epsilon)) {
    throw wrong("one of noise and epsilon must be given, as a number above 0");
  }
  if (options.epsilon > 0 && options.steps < 1) {
    throw wrong("noise for an epsilon is found for a number of steps")
        .hint("give steps, or noise");
  }
  if (!is_positive(options.clip_norm)) {
    throw wrong(fmt::format("a clip_norm of {}", options.clip_norm));
  }
  if (options.rows < 0 || options.steps < 0) {
    throw wrong("rows and steps are 0 at least");
  }
  return options;
}

PrivateNoise noise_of(const PrivateLoop& options, const PoissonOrder& order) {
  return {.deviation =
              options.clip_norm *
              option<double>(found_noise(options, order)[0].options, "noise"),
          .expected_batch = static_cast<double>(options.batch),
          .key = *options.key};
}

PrivateLoop with_key(PrivateLoop options) {
  if (!options.key) options.key = drawn_key();
  return options;
}

// Rows [begin, end), filled up to `rows` by the first of them.
Tensor rows_of(const Tensor& all, std::int64_t begin, std::int64_t end,
               std::int64_t rows) {
  Shape shape = all.shape();
  shape[0] = rows;
  Tensor part = Tensor::empty({all.dtype(), shape});
  const std::size_t bytes = part.bytes() / static_cast<std::size_t>(rows);
  const auto* from = static_cast<const std::byte*>(all.raw());
  auto* to = static_cast<std::byte*>(part.raw());
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t source = begin + (row < end - begin ? row : 0);
    std::memcpy(to + static_cast<std::size_t>(row) * bytes,
                from + static_cast<std::size_t>(source) * bytes, bytes);
  }
  return part;
}

std::string types_text(std::span<const Tensor> batch) {
  std::string text;
  for (const Tensor& tensor : batch) {
    text += to_string(of_one(tensor.type())) + " ";
  }
  return text;
}

}  // namespace

PrivateOptimizer::PrivateOptimizer(VariableUpdater& updater, Loss loss,
                                   const PrivateLoop& options)
    : updater_(updater),
      update_(jit([&updater](const std::vector<Value>& gradients) {
        updater.update(gradients);
      })),
      loss_(std::move(loss)),
      options_(with_key(checked(options))),
      order_(options_.examples,
             {.expected = options_.batch, .key = *options_.key}),
      noise_(noise_of(options_, order_)),
      step_(Tensor::scalar(0.0),
            {.name = "private_step", .is_trainable = false}) {
  for (const VariableRef& variable : updater_.variables()) {
    if (variable->type.dtype == DType::kF32) continue;
    throw wrong(fmt::format("the variable '{}' is {}, and noise is for f32",
                            variable->name, to_string(variable->type)));
  }
}

std::int64_t PrivateOptimizer::number() const {
  return static_cast<std::int64_t>(step_.tensor().item());
}

std::vector<std::int64_t> PrivateOptimizer::sample() const {
  const std::int64_t next = number();
  if (options_.steps > 0 && next >= options_.steps) {
    throw Error(ErrorCode::kExhausted, "private optimizer",
                "all {} steps are taken that were to give away this epsilon",
                options_.steps)
        .hint("a larger number of steps takes more noise from the beginning");
  }
  std::vector<std::int64_t> rows;
  order_.pick(next / order_.steps_per_epoch(), next % order_.steps_per_epoch(),
              rows);
  return rows;
}

void PrivateOptimizer::check_batch(std::span<const Tensor> batch,
                                   std::size_t examples) const {
  if (batch.empty()) throw wrong("a batch has one tensor at least");
  for (const Tensor& tensor : batch) {
    const std::int64_t rows =
        tensor.shape().rank() == 0 ? 0 : tensor.shape()[0];
    if (rows == static_cast<std::int64_t>(examples)) continue;
    throw wrong(fmt::format("a tensor of {}, where {} examples have joined",
                            to_string(tensor.type()), examples))
        .hint("give the rows that sample() told, and no others");
  }
}

double PrivateOptimizer::update(std::span<const Tensor> batch) {
  const auto joined = static_cast<std::int64_t>(sample().size());
  check_batch(batch, static_cast<std::size_t>(joined));
  std::vector<Tensor> sums;
  for (const VariableRef& variable : updater_.variables()) {
    sums.push_back(Tensor::zeros(variable->type));
  }
  sums.push_back(Tensor::scalar(0.0f));
  const std::int64_t most = options_.rows > 0 ? options_.rows : joined;
  std::optional<std::int64_t> broken;
  for (std::int64_t begin = 0; begin < joined; begin += most) {
    const auto found =
        add_sums(batch, begin, std::min(begin + most, joined), sums);
    if (!broken) broken = found;
  }
  const double loss = sums.back().item() / static_cast<double>(joined);
  sums.pop_back();
  if (joined > 0 && !std::isfinite(loss)) {
    throw Error(ErrorCode::kNumeric, "private optimizer",
                "the loss of step {} is {}", number() + 1, loss)
        .hint("a smaller rate often helps");
  }
  if (broken) throw broken_example(*broken);
  std::vector<Value> gradients;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    noise_.add(sums[i].span<float>(), number(), i);
    gradients.emplace_back(sums[i]);
  }
  // It is counted before it can have changed anything.
  step_.assign_add(Tensor::scalar(1.0));
  update_(gradients);
  return joined > 0 ? loss : std::numeric_limits<double>::quiet_NaN();
}

std::optional<std::int64_t> PrivateOptimizer::add_sums(
    std::span<const Tensor> batch, std::int64_t begin, std::int64_t end,
    std::vector<Tensor>& sums) {
  Staged& step = staged(batch);
  std::vector<Tensor> arguments;
  for (const VariableRef& variable : step.variables) {
    arguments.push_back(variable->value);
  }
  arguments.push_back(Tensor::of<std::int64_t>({2}, {options_.seed, number()}));
  // Few sizes are planned for.
  const std::int64_t rows =
      options_.rows > 0 ? options_.rows : order_.padded(end - begin);
  for (const Tensor& tensor : batch) {
    arguments.push_back(rows_of(tensor, begin, end, rows));
  }
  arguments.push_back(Tensor::of<double>(
      {2}, {static_cast<double>(end - begin), static_cast<double>(begin)}));
  const std::vector<Tensor> part = step.sums.run(arguments);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto from = part[i].span<float>();
    const auto to = sums[i].span<float>();
    for (std::size_t k = 0; k < to.size(); ++k) to[k] += from[k];
  }
  const std::int64_t broken = *part.back().data<std::int64_t>();
  return broken < 0 ? std::nullopt : std::optional(begin + broken);
}

PrivateOptimizer::Staged& PrivateOptimizer::staged(
    std::span<const Tensor> batch) {
  const std::string types = types_text(batch);
  auto found = staged_.find(types);
  if (found == staged_.end()) {
    found = staged_.emplace(types, stage(batch)).first;
  }
  return found->second;
}

// The loss of an example and its gradients. Variables that are not trained come
// behind all other parameters, in the order in which they are met.
Function PrivateOptimizer::traced(VariableBuilder& builder,
                                  std::span<const Tensor> batch) const {
  const std::vector<VariableRef>& trained = updater_.variables();
  for (const VariableRef& variable : trained) builder.take(variable);
  const Value key = builder.parameter(kKeyType, "key");
  std::vector<Value> inputs;
  for (const Tensor& tensor : batch) {
    inputs.push_back(builder.parameter(of_one(tensor.type())));
  }
  return builder.build([&] {
    const RandomKeyScope random(key);
    const Value loss = loss_(inputs);
    if (loss.type() != TensorType{DType::kF32, {}}) {
      throw wrong(fmt::format("the loss of an example is {}, and not f32[]",
                              to_string(loss.type())));
    }
    std::vector<Value> wrt;
    for (const VariableRef& variable : trained) {
      wrt.push_back(builder.read(variable));
    }
    std::vector<Value> results = gradients(loss, wrt);
    results.insert(results.begin(), loss);
    return results;
  });
}

PrivateOptimizer::Staged PrivateOptimizer::stage(
    std::span<const Tensor> batch) const {
  Program program;
  VariableBuilder met(program, "met");
  const Function loss = traced(met, batch);
  const std::size_t trained = updater_.variables().size();
  const Function example = with_variables_first(
      program.builder("example"), loss, trained, met.variables(), batch.size());

  FunctionBuilder& builder = program.builder("private_sums");
  PrivateBatch whole;
  for (const VariableRef& variable : met.variables()) {
    whole.shared.push_back(builder.parameter(variable->type));
  }
  whole.key = builder.parameter(kKeyType, "key");
  for (const Tensor& tensor : batch) {
    TensorType type = tensor.type();
    type.shape[0] = symbol("N");
    whole.tensors.push_back(builder.parameter(type));
  }
  whole.present = builder.parameter({DType::kF64, {2}}, "present");
  program.add(builder.build([&] {
    const ExampleSums sums =
        example_sums(program, example, whole, trained, options_.clip_norm);
    std::vector<Value> results = sums.clipped.sums;
    results.push_back(sums.total(0));
    results.push_back(sums.broken());
    return results;
  }));
  return {met.variables(), Executable(program.build(), "private_sums")};
}

double PrivateOptimizer::epsilon(double delta) const {
  if (number() == 0) return 0;
  return privacy::epsilon_of(privacy::dp_sgd(noise(), order_.rate(), number()),
                             delta, options_.accounting);
}

}  // namespace weft
