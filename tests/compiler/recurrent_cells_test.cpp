// Cells of separate ops that are found, and those that only look like some.
#include "weft/compiler/recurrent_cells.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "weft/compiler/flat/flat_graph.h"
#include "weft/graph/builder.h"
#include "weft/graph/program.h"
#include "weft/ops/control.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::recurrent_cells_test {
namespace {

constexpr Dim kBatch = 2, kInputs = 5, kHidden = 19;
using Values = std::vector<Value>;

Tensor numbers(const Shape& shape, double seed) {
  const Tensor tensor = Tensor::empty({DType::kF32, shape});
  for (Dim i = 0; i < tensor.size(); ++i) {
    tensor.data<float>()[i] =
        static_cast<float>(0.4 * std::sin(seed + 0.7 * static_cast<double>(i)));
  }
  return tensor;
}

// A function of x, h, c and of weights, of some steps, which may be frozen.
class Unrolled {
 public:
  // The next states of x, h, c.
  using Step =
      std::function<Values(const Values& states, const Values& weights)>;

  Unrolled(const std::vector<Shape>& weights, const Step& step) {
    FunctionBuilder builder("cell");
    const auto take = [&](const Shape& shape) {
      arguments_.push_back(
          numbers(shape, static_cast<double>(arguments_.size())));
      return builder.parameter(arguments_.back().type());
    };
    Values x;
    for (int t = 0; t < 3; ++t) x.push_back(take({kBatch, kInputs}));
    Value h = take({kBatch, kHidden});
    Value c = take({kBatch, kHidden});
    const std::size_t first = arguments_.size();
    Values w;
    for (const Shape& shape : weights) w.push_back(take(shape));
    function_ = builder.build([&] {
      Values results;
      for (const Value& each : x) {
        const Values next = step({each, h, c}, w);
        h = next[0];
        if (next.size() > 1) c = next[1];
        results.push_back(h + 1.0);
      }
      results.push_back(c);
      return results;
    });
    for (std::size_t i = first; i < arguments_.size(); ++i) {
      frozen_.emplace_back(i, arguments_[i]);
    }
  }

  // How many cells of the op a plan has, once it was seen to compute the same.
  int cells(const std::string& op, bool is_frozen = true) const {
    Executable plain(function_, {.fuse = false});
    Executable served(function_, {.frozen = is_frozen ? frozen_ : Frozen()});
    const auto expected = plain.run(arguments_);
    const auto results = served.run(arguments_);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (Dim k = 0; k < expected[i].size(); ++k) {
        EXPECT_NEAR(results[i].item(k), expected[i].item(k), 2e-6);
      }
    }
    int count = 0;
    for (const StepInfo& step : served.plan_for(arguments_).steps()) {
      if (step.name != op) continue;
      ++count;
      EXPECT_NE(step.kernel.find("packed once"), std::string::npos)
          << step.kernel;
    }
    return count;
  }

 private:
  Function function_;
  std::vector<Tensor> arguments_;
  Frozen frozen_;
};

const std::vector<Shape> kMerged = {
    {kInputs, 4 * kHidden}, {kHidden, 4 * kHidden}, {4 * kHidden}};

Value gate(const Value& z, std::int64_t k) {
  return slice(z, {0, k * kHidden}, {kBatch, (k + 1) * kHidden});
}

Values lstm_of(const Value& i, const Value& f, const Value& g, const Value& o,
               const Value& c) {
  const Value next = sigmoid(f) * c + sigmoid(i) * tanh(g);
  return {sigmoid(o) * tanh(next), next};
}

TEST(RecurrentCells, OneProductForAllGatesInAnyOrder) {
  const Unrolled lstm(kMerged, [](const Values& s, const Values& w) {
    const Value z = matmul(s[0], w[0]) + matmul(s[1], w[1]) + w[2];
    return lstm_of(gate(z, 2), gate(z, 0), gate(z, 3), gate(z, 1), s[2]);
  });
  EXPECT_EQ(lstm.cells("lstm"), 1);
}

TEST(RecurrentCells, OnlyWeightsThatNeverChange) {
  const Unrolled lstm(kMerged, [](const Values& s, const Values& w) {
    const Value z = matmul(s[0], w[0]) + matmul(s[1], w[1]) + w[2];
    return lstm_of(gate(z, 0), gate(z, 1), gate(z, 2), gate(z, 3), s[2]);
  });
  EXPECT_EQ(lstm.cells("lstm"), 1);
  EXPECT_EQ(lstm.cells("lstm", false), 0);
}

TEST(RecurrentCells, AProductForEachGateWithAndWithoutBiases) {
  std::vector<Shape> weights;
  for (int k = 0; k < 4; ++k) {
    // Some weights lie transposed, as PyTorch has them.
    weights.push_back(k == 1 ? Shape{kHidden, kInputs}
                             : Shape{kInputs, kHidden});
    weights.push_back({kHidden, kHidden});
    weights.push_back({kHidden});
  }
  const Unrolled lstm(weights, [](const Values& s, const Values& w) {
    const auto z = [&](std::size_t k) {
      const Value from_x = matmul(s[0], w[3 * k], {.transpose_b = k == 1});
      const Value from_h = matmul(s[1], w[3 * k + 1]);
      // Sums stand in any order; one gate has no bias, another has two.
      if (k == 0) return from_h + from_x;
      if (k == 2) return (from_x + w[3 * k + 2]) + (from_h + w[2]);
      return w[3 * k + 2] + from_h + from_x;
    };
    const Value next = tanh(z(2)) * sigmoid(z(0)) + s[2] * sigmoid(z(1));
    return Values{tanh(next) * sigmoid(z(3)), next};
  });
  EXPECT_EQ(lstm.cells("lstm"), 1);
}

TEST(RecurrentCells, GruInBothForms) {
  for (const bool is_short : {false, true}) {
    const Unrolled gru(
        {{kInputs, 3 * kHidden},
         {kHidden, 3 * kHidden},
         {3 * kHidden},
         {3 * kHidden}},
        [&](const Values& s, const Values& w) {
          const Value from_x = matmul(s[0], w[0]) + w[2];
          const Value from_h = matmul(s[1], w[1]) + w[3];
          const Value r = sigmoid(gate(from_x, 0) + gate(from_h, 0));
          const Value z = sigmoid(gate(from_x, 1) + gate(from_h, 1));
          const Value n = tanh(gate(from_x, 2) + r * gate(from_h, 2));
          return Values{is_short ? n + z * (s[1] - n)
                                 : (1.0 - z) * n + z * s[1]};
        });
    EXPECT_EQ(gru.cells("gru"), 1) << is_short;
  }
}

// Where a sequence has ended, its states stay: what is around a cell is no
// matter of it.
TEST(RecurrentCells, SequencesOfDifferentLengths) {
  const Unrolled lstm(kMerged, [](const Values& s, const Values& w) {
    const Value z = matmul(s[0], w[0]) + matmul(s[1], w[1]) + w[2];
    const Values next =
        lstm_of(gate(z, 0), gate(z, 1), gate(z, 2), gate(z, 3), s[2]);
    const Value goes_on =
        less(slice(s[0], {0, 0}, {kBatch, 1}), full({DType::kF32, {}}, 0.1));
    return Values{where(goes_on, next[0], s[1]), where(goes_on, next[1], s[2])};
  });
  EXPECT_EQ(lstm.cells("lstm"), 3);
}

// What a step reads is made of what the one before it returned, as where a text
// is written: its steps cannot be taken at once.
TEST(RecurrentCells, StepsThatWaitForEachOther) {
  std::vector<Shape> weights = kMerged;
  weights.push_back({kHidden, kInputs});
  const Unrolled lstm(weights, [](const Values& s, const Values& w) {
    const Value x = s[0] + tanh(matmul(s[1], w[3]));
    const Value z = matmul(x, w[0]) + matmul(s[1], w[1]) + w[2];
    return lstm_of(gate(z, 0), gate(z, 1), gate(z, 2), gate(z, 3), s[2]);
  });
  EXPECT_EQ(lstm.cells("lstm"), 3);
}

// Two layers, each from both ends of the sequence: four loops.
TEST(RecurrentCells, LayersInBothDirections) {
  FunctionBuilder builder("layers");
  std::vector<Tensor> arguments;
  const auto take = [&](const Shape& shape) {
    arguments.push_back(numbers(shape, static_cast<double>(arguments.size())));
    return builder.parameter(arguments.back().type());
  };
  Values x;
  for (int t = 0; t < 4; ++t) x.push_back(take({kBatch, kInputs}));
  const Value zero = take({kBatch, kHidden});
  const std::size_t first = arguments.size();
  Values w;
  for (const Dim inputs : {kInputs, kInputs, 2 * kHidden, 2 * kHidden}) {
    w.push_back(take({inputs, 4 * kHidden}));
    w.push_back(take(kMerged[1]));
    w.push_back(take(kMerged[2]));
  }
  const auto direction = [&](Values inputs, std::size_t layer, bool reversed) {
    if (reversed) std::ranges::reverse(inputs);
    Value h = zero, c = zero;
    Values outputs;
    for (const Value& each : inputs) {
      const Value z = matmul(each, w[3 * layer]) + matmul(h, w[3 * layer + 1]) +
                      w[3 * layer + 2];
      const Values next =
          lstm_of(gate(z, 0), gate(z, 1), gate(z, 2), gate(z, 3), c);
      h = next[0];
      c = next[1];
      outputs.push_back(h);
    }
    if (reversed) std::ranges::reverse(outputs);
    return outputs;
  };
  const Function function = builder.build([&] {
    Values values = x;
    for (const std::size_t layer : {0u, 2u}) {
      const Values ahead = direction(values, layer, false);
      const Values back = direction(values, layer + 1, true);
      for (std::size_t t = 0; t < values.size(); ++t) {
        values[t] = concat(std::vector{ahead[t], back[t]}, 1);
      }
    }
    return values;
  });
  Frozen frozen;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    frozen.emplace_back(i, arguments[i]);
  }
  Executable plain(function, {.fuse = false});
  Executable served(function, {.frozen = frozen});
  const auto expected = plain.run(arguments);
  const auto results = served.run(arguments);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (Dim k = 0; k < expected[i].size(); ++k) {
      EXPECT_NEAR(results[i].item(k), expected[i].item(k), 2e-6);
    }
  }
  const auto steps = served.plan_for(arguments).steps();
  EXPECT_EQ(std::ranges::count(steps, "lstm", &StepInfo::name), 4);
}

// The body of a scan is given its weights from outside.
TEST(RecurrentCells, TheBodyOfAScan) {
  const auto f32 = [](Shape shape) { return TensorType{DType::kF32, shape}; };
  const std::vector<TensorType> types = {
      f32({6, kBatch, kInputs}), f32({kBatch, kHidden}), f32({kBatch, kHidden}),
      f32(kMerged[0]),           f32(kMerged[1]),        f32(kMerged[2])};
  Program program;
  program.define("main", types, [](const Values& v) {
    return scan(Values{v[1], v[2]}, Values{v[0]},
                [&](const Values& state, const Values& x) {
                  const Value z =
                      matmul(x[0], v[3]) + matmul(state[0], v[4]) + v[5];
                  Values next = lstm_of(gate(z, 0), gate(z, 1), gate(z, 2),
                                        gate(z, 3), state[1]);
                  next.push_back(next[0]);
                  return next;
                });
  });
  const Graph graph = program.build();
  std::vector<Tensor> arguments;
  for (const TensorType& type : types) {
    arguments.push_back(
        numbers(type.shape, static_cast<double>(arguments.size())));
  }
  Executable plain(graph, "main");
  Executable served(
      graph, "main",
      {.frozen = {{3, arguments[3]}, {4, arguments[4]}, {5, arguments[5]}}});
  const auto expected = plain.run(arguments);
  const auto results = served.run(arguments);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (Dim k = 0; k < expected[i].size(); ++k) {
      EXPECT_NEAR(results[i].item(k), expected[i].item(k), 2e-6);
    }
  }
  const auto text = [&](Executable& executable) {
    return to_string(executable.tagged_for(arguments).graph());
  };
  EXPECT_NE(text(served).find("= lstm("), std::string::npos) << text(served);
  EXPECT_EQ(text(plain).find("= lstm("), std::string::npos);
}

// Each differs from a cell in one thing.
TEST(RecurrentCells, WhatIsChangedIsLeftAlone) {
  using Change = std::function<Values(const Value&, const Values&)>;
  const std::vector<Change> changes = {
      // A clipped gate.
      [](const Value& z, const Values& s) {
        return lstm_of(gate(z, 0), clamp(gate(z, 1), -0.3, 0.3), gate(z, 2),
                       gate(z, 3), s[2]);
      },
      // A clipped cell.
      [](const Value& z, const Values& s) {
        const Value next = clamp(
            sigmoid(gate(z, 1)) * s[2] + sigmoid(gate(z, 0)) * tanh(gate(z, 2)),
            -0.2, 0.2);
        return Values{sigmoid(gate(z, 3)) * tanh(next), next};
      },
      // Another function of a gate.
      [](const Value& z, const Values& s) {
        const Value next = sigmoid(gate(z, 1)) * s[2] +
                           sigmoid(gate(z, 0)) * sigmoid(gate(z, 2));
        return Values{sigmoid(gate(z, 3)) * tanh(next), next};
      },
      // A peephole.
      [](const Value& z, const Values& s) {
        return lstm_of(gate(z, 0) + s[2], gate(z, 1), gate(z, 2), gate(z, 3),
                       s[2]);
      },
      // A gate that is read twice.
      [](const Value& z, const Values& s) {
        const Value i = sigmoid(gate(z, 0));
        const Value next = (1.0 - i) * s[2] + i * tanh(gate(z, 2));
        return Values{sigmoid(gate(z, 3)) * tanh(next), next};
      }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Unrolled lstm(kMerged, [&](const Values& s, const Values& w) {
      return changes[i](matmul(s[0], w[0]) + matmul(s[1], w[1]) + w[2], s);
    });
    EXPECT_EQ(lstm.cells("lstm"), 0) << i;
  }
}

}  // namespace
}  // namespace weft::recurrent_cells_test
