// Passes on graphs that nobody wrote for them: what they make of random ones
// computes the same as the graph without any of them.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "tests/support/op_case.h"

#include "weft/base/philox.h"
#include "weft/compiler/pass.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::random_graph_test {
namespace {

// Draws a graph over matrices, of the ops that passes look for: what is
// computed twice, transposed back, cut and put together, scaled and summed,
// multiplied with a bias and a relu behind it, attended to, cast there and
// back.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint32_t seed) : random_{seed, 0, 0} {}

  Function build() {
    FunctionBuilder builder("f");
    for (const Shape& shape : {Shape{4, 6}, {6, 4}, {6, 6}, {4, 1}, {1, 6}}) {
      values_.push_back(builder.parameter({DType::kF32, shape}));
    }
    values_.push_back(builder.parameter({DType::kF16, {4, 6}}));
    return builder.build([&] {
      for (int i = 0; i < 24; ++i) values_.push_back(bounded(next()));
      // Some values have readers outside, in the middle of what is fused.
      return std::vector{values_.back(), any(), any(), sum(any(), {0})};
    });
  }

 private:
  int below(std::size_t limit) {
    return static_cast<int>(random_.word(drawn_++) %
                            static_cast<std::uint32_t>(limit));
  }
  const Value& any() {
    return values_[static_cast<std::size_t>(below(values_.size()))];
  }
  // A value of x's dtype whose shape `fits`; `x` itself if there is no other.
  template <class Fits>
  Value any_other(const Value& x, Fits fits) {
    const int first = below(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& y =
          values_[(static_cast<std::size_t>(first) + i) % values_.size()];
      if (y.dtype() == x.dtype() && fits(y.shape())) return y;
    }
    return x;
  }
  // So that one tolerance serves all.
  static Value bounded(const Value& x) {
    return x.dtype() == DType::kF32 ? clamp(x, -2, 2) : x;
  }

  Value next() {
    const Value x = any();
    const Dim rows = x.shape()[0];
    const Dim columns = x.shape()[1];
    switch (below(20)) {
      case 0:
        return tanh(x);
      case 1:
        return transpose(x);
      case 2:
        return transpose(transpose(x, {1, 0}), {1, 0});
      case 3:
        return x * any_other(x, [&](const Shape& s) {
                 return (s[0] == 1 || s[0] == rows) && s[1] == columns;
               });
      case 4:
        return x + any_other(x, [&](const Shape& s) { return s == x.shape(); });
      case 5:
        return layer(x);
      case 6:
        return cut_and_joined(x);
      case 7:
        return joined_by_zeros(x);
      case 8:
        return scaled_sum(x, below(2));
      case 9:
        return tanh(x) - tanh(x) * 0.5;
      case 10:
        return cast(cast(x, DType::kF32), x.dtype());
      case 11:
        return tanh(cumsum(x, 1));
      case 12:
        return cell(x);
      case 13:
        return moments_of_joined(x);
      case 14:
        return attended(x);
      case 15:
        return row_of(x);
      case 16:
        return twice_by_one_matrix(x);
      case 17:
        return added_by_columns(x);
      case 18:
        return densely_joined(x);
      default:
        return reshape(broadcast_to(x, x.shape()), {rows, columns});
    }
  }

  // The sum along an axis of what is scaled alike there.
  static Value scaled_sum(const Value& x, int axis) {
    const Value factor = sigmoid(slice_axis(x, axis, 0, 1)) * 0.25;
    return sum(x * factor, {axis}, /*keep_dims=*/true);
  }

  // relu(x w + b), with operands turned at will.
  Value layer(const Value& x) {
    const bool turns = below(2) == 1;
    const Dim inner = x.shape()[turns ? 0 : 1];
    const Value& w = any_other(
        x, [&](const Shape& s) { return s[0] == inner || s[1] == inner; });
    if (w.shape()[0] != inner && w.shape()[1] != inner) return x;
    // Small, so that what is multiplied often stays so.
    const Value small = x * (1.0 / static_cast<double>(inner));
    const Value product = matmul(turns ? transpose(small) : small,
                                 w.shape()[0] == inner ? w : transpose(w));
    const Value& bias = any_other(product, [&](const Shape& s) {
      return s[0] == 1 && s[1] == product.shape()[1];
    });
    const bool fits = bias.dtype() == x.dtype() &&
                      bias.shape()[1] == product.shape()[1] &&
                      bias.shape()[0] == 1;
    return relu(fits ? product + reshape(bias, {bias.shape()[1]}) : product);
  }

  // A step of an LSTM, whose weights never change.
  Value cell(const Value& x) {
    if (x.dtype() != DType::kF32) return x;
    const Dim size = x.shape()[1];
    const auto weights = [&](std::uint64_t seed) {
      return Value(testing::random_tensor(
          {{DType::kF32, {size, 4 * size}}, -0.5, 0.5}, seed));
    };
    const Value h = tanh(x);
    const Value z = matmul(x, weights(1)) + matmul(h, weights(2));
    const auto gate = [&](Dim k) {
      return slice_axis(z, 1, k * size, (k + 1) * size);
    };
    const Value c = sigmoid(gate(0)) * x + sigmoid(gate(3)) * tanh(gate(1));
    return sigmoid(gate(2)) * tanh(c);
  }

  // Attention as it is written without the op, of x to another value.
  Value attended(const Value& x) {
    const Value& other = any_other(
        x, [&](const Shape& s) { return s[1] == x.shape()[1] && s[0] > 2; });
    if (other.shape()[1] != x.shape()[1]) return x;
    const Value keys = below(2) == 1 ? transpose(other) : other;
    const bool are_columns = keys.shape() != other.shape();
    const Value scores = matmul(x, keys, {.transpose_b = !are_columns}) * 0.5;
    return matmul(softmax(scores), other);
  }

  Value row_of(const Value& x) {
    const auto row = below(static_cast<std::size_t>(x.shape()[0]));
    const Value index = Tensor::of<std::int64_t>({}, {row});
    return reshape(gather(x, index), {1, x.shape()[1]});
  }

  // A matrix that is too large for the first caches, as products of few rows
  // have it that are computed together.
  static Value twice_by_one_matrix(const Value& x) {
    constexpr Dim kWide = 16 << 10;
    const Dim columns = x.shape()[1];
    const Value w = full({x.dtype(), {columns, kWide}}, 0.125);
    return slice_axis(matmul(x, w) - matmul(tanh(x), w), 1, 0, columns);
  }

  Value cut_and_joined(const Value& x) {
    const int axis = below(2);
    const Dim size = x.shape()[axis];
    const Dim cut = below(static_cast<std::size_t>(size) + 1);
    return concat(std::vector{slice_axis(x, axis, cut, size),
                              slice_axis(x, axis, 0, cut)},
                  axis);
  }

  // Two values, some columns after the others.
  Value added_by_columns(const Value& x) {
    const Dim columns = x.shape()[1];
    const Dim cut = below(static_cast<std::size_t>(columns));
    const Value y = sigmoid(x);
    const auto added = [&](Dim begin, Dim end) {
      return slice_axis(x, 1, begin, end) + slice_axis(y, 1, begin, end);
    };
    if (cut == 0) return x;
    return concat(std::vector{added(0, cut), added(cut, columns)}, 1);
  }

  // Layers that each read all values before them; what the first one makes of
  // them is read again in the end.
  static Value densely_joined(const Value& x) {
    std::vector<Value> maps{x, tanh(x)};
    std::vector<Value> read;
    for (const Dim width : {2, 1, 3}) {
      read.push_back(sigmoid(concat(maps, 1)));
      const Dim columns = read.back().shape()[1];
      const double part = 1.0 / static_cast<double>(columns);
      maps.push_back(
          matmul(read.back(), full({x.dtype(), {columns, width}}, part)));
    }
    return sum(tanh(read.front()), {1}, /*keep_dims=*/true) +
           sum(read.back(), {1}, /*keep_dims=*/true);
  }

  static Value moments_of_joined(const Value& x) {
    const auto [mean, variance] = moments(concat(std::vector{x, x * 0.5}, 1));
    return cast(reshape(mean + variance, {1, 2 * x.shape()[1]}), x.dtype());
  }

  // Values are joined as gradients of slices add up.
  Value joined_by_zeros(const Value& x) {
    const Dim rows = x.shape()[0];
    const Dim columns = x.shape()[1];
    const Dim cut = below(static_cast<std::size_t>(columns) + 1);
    return unslice(slice_axis(x, 1, 0, cut), x.shape(), {0, 0}, {rows, cut}) +
           unslice(slice_axis(x, 1, cut, columns), x.shape(), {0, cut},
                   {rows, columns});
  }

  RandomStream random_;
  std::uint64_t drawn_ = 0;
  std::vector<Value> values_;
};

std::vector<Tensor> arguments_of(const Function& function) {
  std::vector<Tensor> arguments;
  for (const ValueId id : function.parameters()) {
    const TensorType& type = function.type(id);
    const Tensor x = testing::random_tensor({{DType::kF32, type.shape}},
                                            static_cast<std::uint64_t>(id));
    arguments.push_back(cast(Value(x), type.dtype).tensor());
  }
  return arguments;
}

std::vector<std::string> optional_passes() {
  std::vector<std::string> names;
  for (const PassDef& pass : pass_registry().all()) {
    if (!pass.is_needed) names.push_back(pass.name);
  }
  return names;
}

// Each pass must change some of them: graphs that it leaves alone test nothing.
TEST(RandomGraphs, ComputeTheSameWithAndWithoutEachPass) {
  const std::vector<std::string> passes = optional_passes();
  std::map<std::string, int> changed;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const Function function = RandomGraph(seed).build();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_string(function));
    const std::vector<Tensor> arguments = arguments_of(function);
    const std::vector<Tensor> expected =
        Executable(function, {.without = passes}).run(arguments);
    const auto compare = [&](const std::vector<std::string>& without) {
      const std::vector<Tensor> actual =
          Executable(function, {.without = without}).run(arguments);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        testing::expect_close(actual[i], expected[i], 100);
      }
    };
    compare({});
    for (const std::string& pass : passes) {
      std::vector<std::string> others = passes;
      std::erase(others, pass);
      if (to_string(run_passes(function, {.without = others})) ==
          to_string(run_passes(function, {.without = passes}))) {
        continue;
      }
      ++changed[pass];
      SCOPED_TRACE(pass);
      compare({pass});  // all others
      compare(others);  // it alone
    }
    if (HasFatalFailure()) return;
  }
  for (const std::string& pass : passes) EXPECT_GT(changed[pass], 0) << pass;
}

}  // namespace
}  // namespace weft::random_graph_test
