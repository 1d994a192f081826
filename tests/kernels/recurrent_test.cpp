#include "tests/support/against_reference.h"

namespace weft::recurrent_test {
namespace {

InputSample operand(Shape shape, double low = -1, double high = 1) {
  return {{DType::kF32, shape}, low, high};
}

TEST(RecurrentKernel, AgreesWithTheReferenceOnAllSamples) {
  expect_agreement("lstm", "onednn+simd:lstm", 1e-5);
  expect_agreement("lstm_gradient", "onednn+simd:lstm_gradient", 1e-5);
  expect_agreement("gru", "onednn+simd:gru", 1e-5);
  expect_agreement("gru_gradient", "onednn+simd:gru_gradient", 1e-5);
}

// Hidden sizes below, at and above a multiple of a vector.
TEST(RecurrentKernel, AgreesOnBiggerLayers) {
  for (const Dim hidden : {7, 32, 50}) {
    const Shape state = {6, hidden};
    const OpSample lstm = {
        {operand({5, 6, 20}), operand(state), operand(state),
         operand({20, 4 * hidden}, -0.3, 0.3),
         operand({hidden, 4 * hidden}, -0.3, 0.3), operand({4 * hidden})},
        {}};
    EXPECT_TRUE(agrees_with_reference("lstm", "onednn+simd:lstm", lstm, 1e-5));
    const Shape sequence = {5, 6, hidden};
    const OpSample gradient = {
        {operand({5, 6, 20}), operand(state), operand({20, 3 * hidden}),
         operand({hidden, 3 * hidden}, -0.3, 0.3), operand(sequence),
         operand({5, 6, 4 * hidden}, 0, 1), operand(sequence), operand(state)},
        {}};
    EXPECT_TRUE(agrees_with_reference(
        "gru_gradient", "onednn+simd:gru_gradient", gradient, 2e-5));
  }
}

}  // namespace
}  // namespace weft::recurrent_test
