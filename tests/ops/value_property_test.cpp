// Every op's gradient, and the gradient of its gradient, agree with central
// differences in double. No op is named here.
#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "tests/support/op_case.h"

#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/executable.h"

namespace weft::testing::value_property_test {
namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 2e-5;
constexpr std::int64_t kMostProbes = 12;

bool is_all_double(const std::vector<TensorType>& types) {
  for (const TensorType& type : types) {
    if (is_floating(type.dtype) && type.dtype != DType::kF64) return false;
  }
  return true;
}

// A scalar function of the inputs: the floating outputs, weighted at random
// and summed up.
class Scalar {
 public:
  explicit Scalar(const OpCase& c) : case_(c) {
    std::uint64_t seed = 77;
    for (const TensorType& type : c.output_types()) {
      weights_.push_back(is_floating(type.dtype)
                             ? Value(random_tensor({type, -1, 1}, seed++))
                             : Value());
    }
  }

  Value operator()(std::span<const Value> inputs) const {
    const auto outputs =
        call_all(case_.op(), inputs, case_.attributes(), Location());
    Value total = Tensor::scalar(0, DType::kF64);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (weights_[i].is_defined()) {
        total = total + sum(outputs[i] * weights_[i]);
      }
    }
    return total;
  }

 private:
  const OpCase& case_;
  std::vector<Value> weights_;
};

std::vector<Value> values_of(const std::vector<Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

// Inputs that a gradient is checked for.
std::vector<std::size_t> differentiable(const OpCase& c) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < c.inputs().size(); ++i) {
    if (c.sample().inputs[i].is_differentiable &&
        c.input_types()[i].dtype == DType::kF64) {
      inputs.push_back(i);
    }
  }
  return inputs;
}

using Objective = std::function<double(const std::vector<Tensor>&)>;

// The slope of `objective` along element `element` of an input.
double central_difference(const Objective& objective,
                          const std::vector<Tensor>& inputs, std::size_t input,
                          std::int64_t element) {
  std::vector<Tensor> moved = inputs;
  moved[input] = inputs[input].clone();
  double& place = moved[input].data<double>()[element];
  const double origin = place;
  place = origin + kStep;
  const double above = objective(moved);
  place = origin - kStep;
  const double below = objective(moved);
  return (above - below) / (2 * kStep);
}

void expect_slopes(const Objective& objective,
                   const std::vector<Tensor>& inputs, std::size_t input,
                   const Tensor& gradient) {
  ASSERT_EQ(to_string(gradient.type()), to_string(inputs[input].type()));
  const std::int64_t stride =
      std::max<std::int64_t>(1, gradient.size() / kMostProbes);
  for (std::int64_t i = 0; i < gradient.size(); i += stride) {
    const double expected = central_difference(objective, inputs, input, i);
    const double actual = gradient.item(i);
    ASSERT_NEAR(actual, expected,
                kTolerance * std::max(1.0, std::fabs(expected)))
        << "input " << input << ", element " << i;
  }
}

// The cases to check: samples in double.
void for_each_double_case(const std::function<void(const OpCase&)>& body) {
  for_each_case([&](const OpCase& c) {
    if (c.op().has(kNoGradient)) return;
    const OpCase in_f64(c.op(), c.in_dtype(DType::kF64), 5);
    if (!is_all_double(in_f64.output_types())) return;
    if (differentiable(in_f64).empty()) return;
    try {
      body(in_f64);
    } catch (const Error& error) {
      // A gradient rule may say that it cannot be differentiated again.
      if (error.code() != ErrorCode::kUnsupported) throw;
    }
  });
}

// True if a sample says that the op can be differentiated.
bool claims_gradient(const OpDef& op) {
  if (op.has(kNoGradient) || op.samples() == nullptr) return false;
  for (const OpSample& sample : op.samples()()) {
    for (const InputSample& input : sample.inputs) {
      if (input.is_differentiable && is_floating(input.type.dtype)) return true;
    }
  }
  return false;
}

TEST(Gradients, EqualCentralDifferences) {
  std::set<std::string> checked;
  for_each_double_case([&](const OpCase& c) {
    checked.insert(c.op().name());
    const Scalar scalar(c);
    const Objective objective = [&](const std::vector<Tensor>& inputs) {
      return scalar(values_of(inputs)).tensor().item();
    };
    for (const std::size_t input : differentiable(c)) {
      Tape tape;
      auto values = values_of(c.inputs());
      tape.watch(values[input]);
      const Value loss = scalar(values);
      const Value gradient = tape.gradient(loss, {&values[input], 1})[0];
      expect_slopes(objective, c.inputs(), input, gradient.tensor());
    }
  });
  for (const OpDef& op : op_registry().all()) {
    EXPECT_TRUE(!claims_gradient(op) || checked.contains(op.name()))
        << "no sample of " << op.name() << " can be differentiated in double";
  }
}

// The gradient with respect to every differentiable input, weighted at
// random and summed up: its own gradient is a Hessian product.
Value gradient_scalar(const Scalar& scalar, std::vector<Value>& values,
                      const std::vector<std::size_t>& wrt) {
  Tape tape;
  std::vector<Value> watched;
  for (const std::size_t input : wrt) {
    tape.watch(values[input]);
    watched.push_back(values[input]);
  }
  const auto gradients = tape.gradient(scalar(values), watched);
  Value total = Tensor::scalar(0, DType::kF64);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Value weight = random_tensor({gradients[i].type(), -1, 1}, 900 + i);
    total = total + sum(gradients[i] * weight);
  }
  return total;
}

TEST(Gradients, OfGradientsEqualCentralDifferences) {
  for_each_double_case([&](const OpCase& c) {
    const Scalar scalar(c);
    const auto wrt = differentiable(c);
    const Objective objective = [&](const std::vector<Tensor>& inputs) {
      auto values = values_of(inputs);
      return gradient_scalar(scalar, values, wrt).tensor().item();
    };
    for (const std::size_t input : wrt) {
      if (c.inputs()[input].size() > 64) continue;
      Tape tape;
      auto values = values_of(c.inputs());
      tape.watch(values[input]);
      const Value total = gradient_scalar(scalar, values, wrt);
      const Value gradient = tape.gradient(total, {&values[input], 1})[0];
      expect_slopes(objective, c.inputs(), input, gradient.tensor());
    }
  });
}

TEST(Lowering, EqualsTheReference) {
  for_each_case([](const OpCase& c) {
    if (c.op().lower() == nullptr || c.op().reference() == nullptr) return;
    const auto values = values_of(c.inputs());
    const auto lowered = c.op().lower()(c.attributes(), values);
    const auto expected = c.reference();
    ASSERT_EQ(lowered.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // A composite rounds after each of its ops.
      expect_close(lowered[i].tensor(), expected[i], 4 * c.reduction_length());
    }
  });
}

TEST(Eager, EqualsTheReference) {
  for_each_case([](const OpCase& c) {
    if (c.op().reference() == nullptr) return;
    const auto actual = call_all(c.op(), values_of(c.inputs()),
                                 c.sample().attributes, Location());
    const auto expected = c.reference();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_close(actual[i].tensor(), expected[i], c.reduction_length());
    }
  });
}

TEST(Staged, EqualsEager) {
  for_each_case([](const OpCase& c) {
    FunctionBuilder builder("main");
    std::vector<Value> parameters;
    for (const TensorType& type : c.input_types()) {
      parameters.push_back(builder.parameter(type));
    }
    Executable executable(builder.build([&] {
      return call_all(c.op(), parameters, c.sample().attributes, Location());
    }));
    const auto staged = executable.run(c.inputs());
    const auto eager = call_all(c.op(), values_of(c.inputs()),
                                c.sample().attributes, Location());
    ASSERT_EQ(staged.size(), eager.size());
    for (std::size_t i = 0; i < eager.size(); ++i) {
      expect_close(staged[i], eager[i].tensor(), 4 * c.reduction_length());
    }
  });
}

}  // namespace
}  // namespace weft::testing::value_property_test
