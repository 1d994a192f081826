#include "tests/support/op_case.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "weft/base/philox.h"

namespace weft::testing {
namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kSentinel{0xA5};

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

// `bytes` in the middle of sentinels.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes)
      : bytes_(bytes),
        memory_(Tensor::empty(
            {DType::kU8, {static_cast<Dim>(bytes + 2 * kGuard)}})) {
    std::fill_n(begin(), bytes + 2 * kGuard, kSentinel);
  }
  void* data() const { return begin() + kGuard; }
  bool is_intact() const {
    const auto clean = [](const std::byte* from) {
      return std::all_of(from, from + kGuard,
                         [](std::byte b) { return b == kSentinel; });
    };
    return clean(begin()) && clean(begin() + kGuard + bytes_);
  }

 private:
  std::byte* begin() const { return static_cast<std::byte*>(memory_.raw()); }

  std::size_t bytes_;
  Tensor memory_;
};

}  // namespace

Tensor random_tensor(const InputSample& sample, std::uint64_t seed) {
  Tensor result = Tensor::empty(sample.type);
  const RandomStream random{seed, 0, 0};
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const auto word = random.word(static_cast<std::uint64_t>(i));
    const double unit = (static_cast<double>(word) + 0.5) * 0x1p-32;
    dispatch(result.dtype(), [&]<class T>(T) {
      const double width = sample.high - sample.low;
      if constexpr (std::is_same_v<T, bool>) {
        result.data<T>()[i] = unit < 0.5;
      } else if constexpr (std::is_integral_v<T>) {
        result.data<T>()[i] =
            static_cast<T>(sample.low + std::floor(unit * (width + 1)));
      } else if constexpr (std::is_class_v<T>) {
        result.data<T>()[i] = T(static_cast<float>(sample.low + unit * width));
      } else {
        result.data<T>()[i] = static_cast<T>(sample.low + unit * width);
      }
    });
  }
  return result;
}

OpCase::OpCase(const OpDef& op, const OpSample& sample, std::uint64_t seed)
    : op_(&op), sample_(sample), attributes_(op.complete(sample.attributes)) {
  for (const InputSample& input : sample.inputs) {
    input_types_.push_back(input.type);
    inputs_.push_back(random_tensor(input, seed++));
  }
  output_types_ = op.infer_types(input_types_, attributes_);
}

OpCase OpCase::with_inputs(std::vector<Tensor> inputs) const {
  OpCase result = *this;
  result.inputs_ = std::move(inputs);
  return result;
}

OpSample OpCase::in_dtype(DType dtype) const {
  OpSample result = sample_;
  for (InputSample& input : result.inputs) {
    if (is_floating(input.type.dtype)) input.type.dtype = dtype;
  }
  result.attributes = attributes_;
  for (auto& [name, value] : result.attributes) {
    auto* named = std::get_if<DType>(&value);
    if (named != nullptr && is_floating(*named)) *named = dtype;
  }
  return result;
}

std::string OpCase::text() const {
  std::string text = op_->name() + "(";
  for (std::size_t i = 0; i < input_types_.size(); ++i) {
    if (i > 0) text += ", ";
    text += to_string(input_types_[i]);
  }
  return text + ")" + to_string(attributes_);
}

std::vector<Tensor> OpCase::reference() const {
  std::vector<Tensor> results;
  std::vector<TensorView> in;
  std::vector<TensorView> out;
  for (const Tensor& input : inputs_) in.push_back(input.view());
  for (const TensorType& type : output_types_) {
    results.push_back(Tensor::empty(type));
    out.push_back(results.back().view());
  }
  op_->reference()(call(), in, out);
  return results;
}

double OpCase::reduction_length() const {
  double read = 1;
  double written = std::numeric_limits<double>::infinity();
  for (const auto& type : input_types_) {
    read = std::max(read, static_cast<double>(type.shape.num_elements()));
  }
  // The smallest of several results is made of the most: the gradient of a
  // scale, beside that of an image.
  for (const auto& type : output_types_) {
    written = std::min(written, static_cast<double>(type.shape.num_elements()));
  }
  written = std::max(written, 1.0);
  // A factor of a matrix is as large as the matrix, and each of its elements
  // depends on all of that. An elementwise op adds up nothing.
  const bool adds = op_->cost() != nullptr && !op_->has(kElementwise);
  const double computed = adds ? op_->cost()(call()).flops / 2 : 0;
  return std::max({1.0, read / written, computed / written});
}

void for_each_case(const std::function<void(const OpCase&)>& body) {
  std::uint64_t seed = 1;
  for (const OpDef& op : op_registry().all()) {
    if (op.samples() == nullptr) continue;
    for (const OpSample& sample : op.samples()()) {
      seed += 100;
      try {
        const OpCase op_case(op, sample, seed);
        SCOPED_TRACE(op_case.text());
        body(op_case);
      } catch (const Error& error) {
        ADD_FAILURE() << op.name() << ", seed " << seed << "\n" << error.what();
      }
    }
  }
}

std::vector<Tensor> run_guarded(PreparedKernel& kernel,
                                std::span<const Tensor> inputs,
                                std::span<const TensorType> outputs) {
  std::vector<void*> in;
  std::vector<void*> out;
  std::vector<Tensor> before;
  std::vector<Guarded> guards;
  for (const Tensor& input : inputs) {
    in.push_back(input.raw());
    before.push_back(input.clone());
  }
  guards.reserve(outputs.size());
  for (const TensorType& type : outputs) {
    out.push_back(guards.emplace_back(type.bytes()).data());
  }
  const Guarded scratch(kernel.scratch_bytes());
  kernel.run({in.data(), out.data(), scratch.data()});
  EXPECT_TRUE(scratch.is_intact()) << "wrote outside its scratch";
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(guards[i].is_intact()) << "wrote outside output " << i;
    results.push_back(Tensor::empty(outputs[i]));
    if (outputs[i].bytes() > 0) {
      std::memcpy(results[i].raw(), out[i], outputs[i].bytes());
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(identical(inputs[i], before[i])) << "changed input " << i;
  }
  return results;
}

void expect_close(const Tensor& actual, const Tensor& expected, double length) {
  ASSERT_EQ(to_string(actual.type()), to_string(expected.type()));
  double largest = 1;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double value = std::fabs(expected.item(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const double tolerance =
      is_floating(expected.dtype())
          ? epsilon(expected.dtype()) * largest * (4 + 2 * std::sqrt(length))
          : 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double a = actual.item(i);
    const double b = expected.item(i);
    const bool agree = a == b || (std::isnan(a) && std::isnan(b)) ||
                       std::fabs(a - b) <= tolerance;
    ASSERT_TRUE(agree) << "element " << i << " is " << a << ", not " << b
                       << " (tolerance " << tolerance << ")";
  }
}

}  // namespace weft::testing
