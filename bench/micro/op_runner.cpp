#include "bench/micro/op_runner.h"

#include <algorithm>
#include <cmath>

#include "weft/base/philox.h"

namespace weft::micro {
namespace {

std::vector<TensorType> types_of(const OpSample& sample) {
  std::vector<TensorType> types;
  for (const InputSample& input : sample.inputs) types.push_back(input.type);
  return types;
}

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

}  // namespace

Tensor random_tensor(const InputSample& sample, std::uint32_t stream) {
  const Tensor tensor = Tensor::empty(sample.type);
  const RandomStream random{1, stream, 0};
  dispatch(tensor.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double unit =
          uniform_from(random.word(static_cast<std::uint64_t>(i)));
      const double value = sample.low + unit * (sample.high - sample.low);
      if constexpr (std::is_arithmetic_v<T>) {
        tensor.data<T>()[i] = static_cast<T>(value);
      } else {
        tensor.data<T>()[i] = T(static_cast<float>(value));
      }
    }
  });
  return tensor;
}

bool check_close(benchmark::State& state, const Tensor& actual,
                 const Tensor& expected, double tolerance) {
  if (actual.dtype() == DType::kBF16) tolerance += 0x1p-7;
  double largest = 0;
  double worst = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::fabs(expected.item(i)));
    worst = std::max(worst, std::fabs(actual.item(i) - expected.item(i)));
  }
  if (worst <= tolerance * largest) return true;
  state.SkipWithError(
      fmt::format("differs by {} of {}", worst, largest).c_str());
  return false;
}

void count(benchmark::State& state, const Cost& cost) {
  using benchmark::Counter;
  constexpr auto kRate = Counter::kIsIterationInvariantRate;
  if (cost.flops > 0) state.counters["flops/s"] = Counter(cost.flops, kRate);
  if (cost.bytes > 0) state.counters["bytes/s"] = Counter(cost.bytes, kRate);
}

OpRunner::OpRunner(const std::string& op, const OpSample& sample)
    : op_(op_registry().get(op)),
      attributes_(op_.complete(sample.attributes)),
      input_types_(types_of(sample)),
      types_(op_.infer_types(input_types_, attributes_)),
      choice_(choose_kernel(call())) {
  for (const InputSample& input : sample.inputs) {
    const auto stream = static_cast<std::uint32_t>(inputs_.size());
    inputs_.push_back(random_tensor(input, stream));
    input_addresses_.push_back(inputs_.back().raw());
  }
  for (const TensorType& type : types_) {
    outputs_.push_back(Tensor::zeros(type));
    output_addresses_.push_back(outputs_.back().raw());
  }
  scratch_ = Tensor::zeros(
      {DType::kU8, {static_cast<Dim>(choice_.kernel->scratch_bytes())}});
}

void OpRunner::run() {
  choice_.kernel->run(
      {input_addresses_.data(), output_addresses_.data(), scratch_.raw()});
}

bool OpRunner::check(benchmark::State& state, double tolerance) {
  run();
  std::vector<Tensor> expected;
  for (const TensorType& type : types_) {
    expected.push_back(Tensor::zeros(type));
  }
  op_.reference()(call(), views_of(inputs_), views_of(expected));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!check_close(state, outputs_[i], expected[i], tolerance)) return false;
  }
  return true;
}

}  // namespace weft::micro
