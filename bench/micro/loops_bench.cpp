// Fused loops: what generated code gains over tiles on the chains of batch
// norm, what one instruction takes, and what compiling costs.
#include "bench/micro/benches.h"
#include "bench/micro/op_runner.h"

#include "weft/kernels/loop/loop_kernel.h"

namespace weft::micro {
namespace {

// The activations of resnet20's first stage.
constexpr std::int64_t kBatch = 128;
constexpr std::int64_t kCheckedBatch = 2;
constexpr std::int64_t kChannels = 16;
constexpr double kTolerance = 1e-5;

// A loop program, and beside it the ops that it was made of: their references
// say what it must compute.
class Chain {
 public:
  explicit Chain(const Shape& shape) { program_.shape = shape; }

  int input(const TensorType& type) {
    program_.inputs.push_back({type, {}});
    inputs_.push_back(
        random_tensor({type}, static_cast<std::uint32_t>(inputs_.size())));
    return static_cast<int>(inputs_.size()) - 1;
  }
  // It comes after the last input.
  int apply(const char* op, std::vector<int> operands) {
    program_.instructions.emplace_back(*find_tile_op(op), operands);
    steps_.push_back({op, std::move(operands)});
    return static_cast<int>(inputs_.size() + steps_.size()) - 1;
  }
  void store(int operand, DType dtype) {
    program_.outputs.push_back({operand, {dtype, program_.shape}});
  }
  void sum(int operand) {
    program_.outputs.push_back(
        {operand, {DType::kF32, {program_.shape.back()}}, true});
  }

  const LoopProgram& program() const { return program_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }

  std::vector<Tensor> expected() const {
    std::vector<Tensor> values;
    for (const Tensor& input : inputs_) {
      values.push_back(evaluate("cast", {input}, {{"dtype", DType::kF32}}));
    }
    for (const Step& step : steps_) {
      std::vector<Tensor> operands;
      for (const int number : step.operands) {
        operands.push_back(values[static_cast<std::size_t>(number)]);
      }
      values.push_back(evaluate(step.op, operands, {}));
    }
    std::vector<Tensor> results;
    for (const auto& output : program_.outputs) {
      const Tensor& value = values[static_cast<std::size_t>(output.operand)];
      if (output.is_sum) {
        results.push_back(evaluate("sum", {value}, {{"axes", leading()}}));
      } else {
        results.push_back(
            evaluate("cast", {value}, {{"dtype", output.type.dtype}}));
      }
    }
    return results;
  }

 private:
  struct Step {
    const char* op;
    std::vector<int> operands;
  };

  Integers leading() const {
    Integers axes;
    for (int i = 0; i + 1 < program_.shape.rank(); ++i) axes.push_back(i);
    return axes;
  }

  static Tensor evaluate(const char* name, const std::vector<Tensor>& inputs,
                         const Attributes& given) {
    const OpDef& op = op_registry().get(name);
    std::vector<TensorType> types;
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) {
      types.push_back(input.type());
      views.push_back(input.view());
    }
    const Attributes attributes = op.complete(given);
    const auto results = op.infer_types(types, attributes);
    const Tensor result = Tensor::zeros(results[0]);
    const TensorView view = result.view();
    op.reference()({op, types, attributes, results}, views, {&view, 1});
    return result;
  }

  LoopProgram program_;
  std::vector<Tensor> inputs_;
  std::vector<Step> steps_;
};

// relu((x - mean) * deviation * scale + shift)
Chain forward_chain(std::int64_t batch, DType dtype) {
  Chain chain({batch, 32, 32, kChannels});
  const int x = chain.input({dtype, chain.program().shape});
  const int mean = chain.input({DType::kF32, {kChannels}});
  const int deviation = chain.input({DType::kF32, {kChannels}});
  const int scale = chain.input({DType::kF32, {kChannels}});
  const int shift = chain.input({DType::kF32, {kChannels}});
  int y = chain.apply("subtract", {x, mean});
  y = chain.apply("multiply", {y, deviation});
  y = chain.apply("multiply", {y, scale});
  y = chain.apply("add", {y, shift});
  chain.store(chain.apply("relu", {y}), dtype);
  return chain;
}

// These go through the relu: the sums over dy and over dy * (x - mean) *
// deviation.
Chain sums_chain(std::int64_t batch, DType dtype) {
  Chain chain({batch, 32, 32, kChannels});
  const int dy = chain.input({dtype, chain.program().shape});
  const int y = chain.input({dtype, chain.program().shape});
  const int x = chain.input({dtype, chain.program().shape});
  const int mean = chain.input({DType::kF32, {kChannels}});
  const int deviation = chain.input({DType::kF32, {kChannels}});
  const int zero = chain.input({DType::kF32, {}});
  const int is_on = chain.apply("greater", {y, zero});
  const int passed = chain.apply("where", {is_on, dy, zero});
  int centred = chain.apply("subtract", {x, mean});
  centred = chain.apply("multiply", {centred, deviation});
  chain.sum(passed);
  chain.sum(chain.apply("multiply", {passed, centred}));
  return chain;
}

// (dy - a - (x - mean) * b) * c
Chain gradient_chain(std::int64_t batch, DType dtype) {
  Chain chain({batch, 32, 32, kChannels});
  const int dy = chain.input({dtype, chain.program().shape});
  const int x = chain.input({dtype, chain.program().shape});
  const int mean = chain.input({DType::kF32, {kChannels}});
  const int a = chain.input({DType::kF32, {kChannels}});
  const int b = chain.input({DType::kF32, {kChannels}});
  const int c = chain.input({DType::kF32, {kChannels}});
  int centred = chain.apply("subtract", {x, mean});
  centred = chain.apply("multiply", {centred, b});
  int dx = chain.apply("subtract", {dy, a});
  dx = chain.apply("subtract", {dx, centred});
  chain.store(chain.apply("multiply", {dx, c}), dtype);
  return chain;
}

Chain one_instruction(std::int64_t batch, DType dtype) {
  Chain chain({batch, 32, 32, kChannels});
  const int a = chain.input({dtype, chain.program().shape});
  const int b = chain.input({dtype, chain.program().shape});
  chain.store(chain.apply("add", {a, b}), dtype);
  return chain;
}

// A loop with its operands and results in memory.
class LoopRunner {
 public:
  LoopRunner(const Chain& chain, bool is_generated)
      : inputs_(chain.inputs()),
        kernel_(chain.program(), {.may_generate = is_generated}) {
    for (const auto& output : chain.program().outputs) {
      outputs_.push_back(Tensor::zeros(output.type));
    }
    for (const Tensor& x : inputs_) input_addresses_.push_back(x.raw());
    for (const Tensor& y : outputs_) output_addresses_.push_back(y.raw());
    scratch_ = Tensor::zeros(
        {DType::kU8, {static_cast<Dim>(kernel_.scratch_bytes())}});
  }

  void run() {
    kernel_.run(
        {input_addresses_.data(), output_addresses_.data(), scratch_.raw()});
  }
  bool is_generated() const { return kernel_.is_generated(); }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  double bytes() const {
    std::size_t bytes = 0;
    for (const Tensor& x : inputs_) bytes += x.bytes();
    for (const Tensor& y : outputs_) bytes += y.bytes();
    return static_cast<double>(bytes);
  }

 private:
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<void*> input_addresses_;
  std::vector<void*> output_addresses_;
  Tensor scratch_;
  LoopKernel kernel_;
};

using MakeChain = Chain (*)(std::int64_t batch, DType dtype);

bool check(benchmark::State& state, const Chain& chain, bool is_generated) {
  LoopRunner runner(chain, is_generated);
  runner.run();
  const auto expected = chain.expected();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!check_close(state, runner.outputs()[i], expected[i], kTolerance)) {
      return false;
    }
  }
  return true;
}

void run_loop(benchmark::State& state, MakeChain make, DType dtype,
              bool is_generated) {
  if (!check(state, make(kCheckedBatch, dtype), is_generated)) return;
  const Chain chain = make(kBatch, dtype);
  LoopRunner runner(chain, is_generated);
  if (runner.is_generated() != is_generated) {
    state.SkipWithError("no code is generated for this processor");
    return;
  }
  runner.run();
  for (auto _ : state) runner.run();
  const double elements =
      static_cast<double>(chain.program().shape.num_elements());
  const double instructions =
      static_cast<double>(chain.program().instructions.size());
  count(state, {elements * instructions, runner.bytes()});
}

// Making a loop ready, its code included.
void compile_loop(benchmark::State& state, MakeChain make) {
  const Chain chain = make(kCheckedBatch, DType::kF32);
  if (!check(state, chain, true)) return;
  for (auto _ : state) {
    LoopKernel kernel(chain.program());
    benchmark::DoNotOptimize(kernel.is_generated());
  }
}

}  // namespace

void register_loops() {
  struct Named {
    const char* name;
    MakeChain make;
  };
  for (const auto& [name, make] :
       {Named{"norm_forward", forward_chain}, Named{"norm_sums", sums_chain},
        Named{"norm_gradient", gradient_chain},
        Named{"one_add", one_instruction}}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      for (const bool is_generated : {true, false}) {
        benchmark::RegisterBenchmark(
            fmt::format("loop/{}/{}/{}", name, to_string(dtype),
                        is_generated ? "code" : "tiles")
                .c_str(),
            [make = make, dtype, is_generated](benchmark::State& state) {
              run_loop(state, make, dtype, is_generated);
            })
            ->UseRealTime();
      }
    }
    benchmark::RegisterBenchmark(
        fmt::format("loop_compile/{}", name).c_str(),
        [make = make](benchmark::State& state) { compile_loop(state, make); });
  }
}

}  // namespace weft::micro
