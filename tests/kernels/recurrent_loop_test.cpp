// The loop over the steps of LSTM and GRU against the ops' definitions, over
// sizes that fit no vector, formats of the weights and all parameters.
#include <cmath>
#include <cstring>

#include "tests/support/against_reference.h"
#include "tests/support/environment.h"
#include "tests/support/op_case.h"

#include "weft/base/parallel.h"
#include "weft/kernels/recurrent/search.h"

namespace weft::recurrent_loop_test {
namespace {

using recurrent::Cell;
using recurrent::LoopParameters;
using recurrent::SequenceShape;

InputSample operand(Shape shape, double bound = 1) {
  return {{DType::kF32, shape}, -bound, bound};
}

OpSample sample(Cell cell, Dim steps, Dim batch, Dim inputs, Dim hidden,
                DType weights = DType::kF32) {
  const Dim gates = cell == Cell::kLstm ? 4 : 3;
  // Sums stay where the gates tell numbers apart.
  const double bound = 2 / std::sqrt(static_cast<double>(inputs + hidden));
  OpSample sample{{operand({steps, batch, inputs}), operand({batch, hidden})},
                  {{"weights", weights}}};
  if (cell == Cell::kLstm) sample.inputs.push_back(operand({batch, hidden}));
  sample.inputs.push_back(operand({inputs, gates * hidden}, bound));
  sample.inputs.push_back(operand({hidden, gates * hidden}, bound));
  sample.inputs.push_back(operand({gates * hidden}));
  if (cell == Cell::kGru) sample.inputs.push_back(operand({gates * hidden}));
  return sample;
}

std::string op_of(Cell cell) { return cell == Cell::kLstm ? "lstm" : "gru"; }
std::string loop_of(Cell cell) { return "simd:" + op_of(cell) + "_loop"; }

// Rounding to fewer bits happens in f32 here and in double there: now and then
// a number on the edge goes the other way, by one step of the format.
double tolerance(DType weights) { return weights == DType::kF32 ? 1e-5 : 2e-2; }

TEST(RecurrentLoop, AgreesOnSizesThatFitNoVector) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    for (const DType weights : {DType::kF32, DType::kBF16, DType::kI8}) {
      for (const Dim hidden : {1, 3, 17, 33, 255, 257}) {
        const Dim inputs = hidden == 257 ? 5 : hidden == 3 ? 300 : hidden;
        const Dim batch = hidden % 4 + 1;
        SCOPED_TRACE(fmt::format("{} of {}, {} hidden", op_of(cell),
                                 to_string(weights), hidden));
        EXPECT_TRUE(agrees_with_reference(
            op_of(cell), loop_of(cell),
            sample(cell, hidden > 100 ? 2 : 5, batch, inputs, hidden, weights),
            tolerance(weights)));
      }
    }
  }
}

TEST(RecurrentLoop, TakesOneToFourSequencesOfAnyLength) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    for (const Dim batch : {1, 2, 3, 4}) {
      for (const Dim steps : {1, 2, 9}) {
        EXPECT_TRUE(agrees_with_reference(op_of(cell), loop_of(cell),
                                          sample(cell, steps, batch, 6, 21),
                                          1e-5));
      }
    }
    const Call many(op_of(cell), sample(cell, 3, 5, 6, 21));
    EXPECT_TRUE(
        candidate(op_of(cell), loop_of(cell)).declines(many.get()).has_value());
    // With narrow weights it is the only one.
    EXPECT_TRUE(agrees_with_reference(op_of(cell), loop_of(cell),
                                      sample(cell, 3, 9, 6, 21, DType::kBF16),
                                      tolerance(DType::kBF16)));
  }
}

TEST(RecurrentLoop, WithoutStepsTheStateStaysAsItWas) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    const Call none(op_of(cell), sample(cell, 0, 2, 2, 3));
    const auto operands = none.random_operands();
    const KernelChoice choice = choose_kernel(none.get());
    EXPECT_EQ(choice.name, loop_of(cell));
    const auto results = none.run(*choice.kernel, operands);
    for (Dim i = 0; i < 6; ++i) {
      EXPECT_EQ(results[1].item(i), operands[1].item(i));
      if (cell == Cell::kLstm) {
        EXPECT_EQ(results[2].item(i), operands[2].item(i));
      }
    }
  }
}

Tensor filled(const Shape& shape, float value) {
  Tensor tensor = Tensor::empty({DType::kF32, shape});
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.data<float>()[i] = value;
  }
  return tensor;
}

// Without weights: i = f = o = 1/2 and g = 0, so that c = c0 / 2; and z = 1/2
// and n = 0, so that h = h0 / 2.
TEST(RecurrentLoop, ComputesOneUnitAsByHand) {
  for (const DType weights : {DType::kF32, DType::kBF16, DType::kI8}) {
    const Call lstm("lstm", sample(Cell::kLstm, 1, 1, 1, 1, weights));
    const auto lstm_kernel =
        candidate("lstm", "simd:lstm_loop").prepare(lstm.get());
    const auto of_lstm =
        lstm.run(*lstm_kernel,
                 {filled({1, 1, 1}, 1), filled({1, 1}, 1), filled({1, 1}, 2),
                  filled({1, 4}, 0), filled({1, 4}, 0), filled({4}, 0)});
    EXPECT_FLOAT_EQ(static_cast<float>(of_lstm[0].item(0)), 0.3807971f);
    EXPECT_FLOAT_EQ(static_cast<float>(of_lstm[2].item(0)), 1.f);
    const Call gru("gru", sample(Cell::kGru, 1, 1, 1, 1, weights));
    const auto gru_kernel =
        candidate("gru", "simd:gru_loop").prepare(gru.get());
    const auto of_gru =
        gru.run(*gru_kernel,
                {filled({1, 1, 1}, 1), filled({1, 1}, 1), filled({1, 3}, 0),
                 filled({1, 3}, 0), filled({3}, 0), filled({3}, 0)});
    EXPECT_FLOAT_EQ(static_cast<float>(of_gru[0].item(0)), 0.5f);
  }
}

// --- Parameters --------------------------------------------------------------

// A layer with operands of its own, run with any parameters.
class Layer {
 public:
  explicit Layer(const SequenceShape& shape)
      : shape_(shape),
        call_(op_of(shape.cell),
              sample(shape.cell, dim(shape.steps), dim(shape.batch),
                     dim(shape.inputs), dim(shape.hidden), shape.weights)),
        operands_(call_.random_operands(3)) {}

  // y, after the last state.
  std::vector<float> run(const LoopParameters& parameters) {
    const bool is_lstm = shape_.cell == Cell::kLstm;
    const auto input = input_layout(shape_, parameters.units);
    const auto state = state_layout(shape_, parameters.units);
    const std::size_t first = is_lstm ? 3 : 2;
    const Tensor input_panels = packed(input, operands_[first]);
    const Tensor state_panels = packed(state, operands_[first + 1]);
    const std::size_t states = shape_.batch * shape_.hidden;
    const std::size_t all = shape_.steps * states;
    std::vector<float> y(all), cells(all), gates(4 * all), last(2 * states);
    Tensor scratch = bytes(static_cast<std::size_t>(parameters.threads) *
                           scratch_bytes(shape_, parameters));
    const auto function = find_sequence(shape_, parameters);
    if (function == nullptr) return {};
    run_sequence(
        {.shape = shape_,
         .parameters = parameters,
         .input_weights = {input, static_cast<std::byte*>(input_panels.raw())},
         .state_weights = {state, static_cast<std::byte*>(state_panels.raw())},
         .x = operands_[0].data<float>(),
         .h = operands_[1].data<float>(),
         .c = is_lstm ? operands_[2].data<float>() : nullptr,
         .input_bias = operands_[first + 2].data<float>(),
         .state_bias = is_lstm ? nullptr : operands_[first + 3].data<float>(),
         .y = y.data(),
         .h_last = last.data(),
         .c_last = is_lstm ? last.data() + states : nullptr,
         .gates = gates.data(),
         .cells = is_lstm ? cells.data() : nullptr,
         .scratch = static_cast<std::byte*>(scratch.raw())},
        function);
    y.insert(y.end(), last.begin(), last.end());
    return y;
  }

 private:
  static Dim dim(std::size_t size) { return static_cast<Dim>(size); }
  static Tensor bytes(std::size_t count) {
    return Tensor::empty({DType::kU8, {dim(count)}});
  }
  static Tensor packed(const recurrent::PanelLayout& layout, const Tensor& w) {
    Tensor panels = bytes(layout.bytes());
    pack(layout, w.data<float>(), static_cast<std::byte*>(panels.raw()));
    return panels;
  }

  SequenceShape shape_;
  Call call_;
  std::vector<Tensor> operands_;
};

TEST(RecurrentLoop, ComputesTheSameWithAllParametersAndOnAllThreads) {
  const int threads = thread_count();
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    for (const DType weights : {DType::kF32, DType::kBF16, DType::kI8}) {
      const SequenceShape shape{cell, 7, 3, 19, 41, weights};
      Layer layer(shape);
      set_thread_count(1);
      const auto expected = layer.run(default_parameters(shape, 1));
      for (const LoopParameters& parameters : recurrent::candidates(shape, 1)) {
        SCOPED_TRACE(to_string(parameters));
        set_thread_count(1);
        const auto alone = layer.run(parameters);
        ASSERT_EQ(alone.size(), expected.size());
        for (std::size_t i = 0; i < alone.size(); ++i) {
          ASSERT_NEAR(alone[i], expected[i], 1e-2 * tolerance(weights) + 1e-5);
        }
        // More threads than units have some that own none.
        for (const int count : {2, 5}) {
          set_thread_count(count);
          LoopParameters shared = parameters;
          shared.threads = count;
          EXPECT_EQ(layer.run(shared), alone);
        }
      }
    }
  }
  set_thread_count(threads);
}

TEST(RecurrentLoop, NarrowWeightsThatAreNoNumbersAreSeen) {
  for (const DType weights : {DType::kBF16, DType::kI8}) {
    const Call call("gru", sample(Cell::kGru, 2, 1, 20, 20, weights));
    auto operands = call.random_operands();
    operands[3].data<float>()[5] = NAN;
    const auto kernel = candidate("gru", "simd:gru_loop").prepare(call.get());
    const auto results = call.run(*kernel, operands);
    EXPECT_TRUE(std::isnan(results[0].item(5)));
    operands = call.random_operands();
    operands[0].data<float>()[7] = INFINITY;
    const auto of_bad_x = call.run(*kernel, operands);
    if (weights == DType::kI8) {
      EXPECT_TRUE(std::isnan(of_bad_x[0].item(0)));
    }
  }
}

// --- Weights that are known --------------------------------------------------

TEST(RecurrentLoop, PacksKnownWeightsOnce) {
  for (const DType weights : {DType::kF32, DType::kBF16, DType::kI8}) {
    const Call call("lstm", sample(Cell::kLstm, 3, 1, 20, 24, weights));
    const auto operands = call.random_operands();
    std::vector<const Tensor*> known(operands.size(), nullptr);
    known[3] = &operands[3];
    known[4] = &operands[4];
    const OpCall plain = call.get();
    const OpCall frozen{plain.op, plain.inputs, plain.attributes, plain.outputs,
                        known};
    const auto& loop = candidate("lstm", "simd:lstm_loop");
    // Three steps do not pay for packing, unless nobody else multiplies so, or
    // all is packed already.
    EXPECT_EQ(loop.yields(plain).has_value(), weights == DType::kF32);
    EXPECT_FALSE(loop.yields(frozen).has_value());
    const auto once = loop.prepare(frozen);
    const auto each = loop.prepare(plain);
    EXPECT_LT(once->scratch_bytes(), each->scratch_bytes());
    EXPECT_NE(once->implementation().find("packed once"), std::string::npos);
    EXPECT_NE(each->implementation().find("packed in each run"),
              std::string::npos);
    const auto expected = call.run(*each, operands);
    // What a run is given in their place is not read.
    auto others = operands;
    others[3] = filled(operands[3].shape(), NAN);
    others[4] = filled(operands[4].shape(), NAN);
    const auto results = call.run(*once, others);
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(identical(results[i], expected[i])) << i;
    }
  }
}

TEST(RecurrentLoop, SharesPanelsWhileSomebodyHoldsThem) {
  const SequenceShape shape{Cell::kGru, 1, 1, 20, 24};
  const auto layout = state_layout(shape, recurrent::machine_lanes());
  const Tensor w = filled({24, 72}, 1);
  auto first = recurrent::shared_panels(layout, w);
  EXPECT_EQ(recurrent::shared_panels(layout, w), first);
  const auto other =
      recurrent::shared_panels(state_layout(shape, 2 * layout.units), w);
  EXPECT_NE(other, first);
  // Weights that have changed since nobody held them are packed anew.
  first.reset();
  w.data<float>()[0] = 2;
  const auto again = recurrent::shared_panels(layout, w);
  EXPECT_EQ(again->data<std::uint8_t>()[0], 0);
  float packed = 0;
  std::memcpy(&packed, again->raw(), sizeof packed);
  EXPECT_EQ(packed, 2.f);
}

}  // namespace
}  // namespace weft::recurrent_loop_test
