#include "weft/compiler/form_cells.h"
#include "weft/compiler/pass.h"

namespace weft {

void register_pass_form_recurrent_cells(PassRegistry& passes) {
  passes.add({
      .name = "form_recurrent_cells",
      .summary =
          "makes lstm and gru of separate ops whose weights never change",
      .order = 85,
      // Products are added up in another order.
      .keeps_bits = false,
      .run = form_cells,
      .samples =
          {{R"(func @f(%0: f32[1, 2], %1: f32[1, 1], %2: f32[1, 1]) -> (f32[1, 1]) {
    %3 = constant() {value = f32[2, 4](1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)} : f32[2, 4]
    %4 = constant() {value = f32[1, 4](-1.0, -2.0, -3.0, -4.0)} : f32[1, 4]
    %5 = matmul(%0, %3) : f32[1, 4]
    %6 = matmul(%1, %4) : f32[1, 4]
    %7 = add(%5, %6) : f32[1, 4]
    %8 = slice(%7) {begin = [0, 0], end = [1, 1]} : f32[1, 1]
    %9 = slice(%7) {begin = [0, 1], end = [1, 2]} : f32[1, 1]
    %10 = slice(%7) {begin = [0, 2], end = [1, 3]} : f32[1, 1]
    %11 = slice(%7) {begin = [0, 3], end = [1, 4]} : f32[1, 1]
    %12 = sigmoid(%8) : f32[1, 1]
    %13 = sigmoid(%9) : f32[1, 1]
    %14 = tanh(%10) : f32[1, 1]
    %15 = sigmoid(%11) : f32[1, 1]
    %16 = multiply(%13, %2) : f32[1, 1]
    %17 = multiply(%12, %14) : f32[1, 1]
    %18 = add(%16, %17) : f32[1, 1]
    %19 = tanh(%18) : f32[1, 1]
    %20 = multiply(%15, %19) : f32[1, 1]
    return %20
  })",
            R"(func @f(%0: f32[1, 2], %1: f32[1, 1], %2: f32[1, 1]) -> (f32[1, 1]) {
    %3 = reshape(%0) {shape = shape[1, 1, 2]} : f32[1, 1, 2]
    %4 = constant() {value = f32[2, 4](1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)} : f32[2, 4]
    %5 = constant() {value = f32[1, 4](-1.0, -2.0, -3.0, -4.0)} : f32[1, 4]
    %6 = constant() {value = f32[4](0.0, 0.0, 0.0, 0.0)} : f32[4]
    %7, %8, %9, %10, %11 = lstm(%3, %1, %2, %4, %5, %6) : f32[1, 1, 1], f32[1, 1], f32[1, 1], f32[1, 1, 4], f32[1, 1, 1]
    return %8
  })"},
           // An input gate of another function is none.
           {R"(func @f(%0: f32[1, 2], %1: f32[1, 1], %2: f32[1, 1]) -> (f32[1, 1]) {
    %3 = constant() {value = f32[2, 4](1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)} : f32[2, 4]
    %4 = constant() {value = f32[1, 4](-1.0, -2.0, -3.0, -4.0)} : f32[1, 4]
    %5 = matmul(%0, %3) : f32[1, 4]
    %6 = matmul(%1, %4) : f32[1, 4]
    %7 = add(%5, %6) : f32[1, 4]
    %8 = slice(%7) {begin = [0, 0], end = [1, 1]} : f32[1, 1]
    %9 = slice(%7) {begin = [0, 1], end = [1, 2]} : f32[1, 1]
    %10 = slice(%7) {begin = [0, 2], end = [1, 3]} : f32[1, 1]
    %11 = slice(%7) {begin = [0, 3], end = [1, 4]} : f32[1, 1]
    %12 = sign(%8) : f32[1, 1]
    %13 = sigmoid(%9) : f32[1, 1]
    %14 = tanh(%10) : f32[1, 1]
    %15 = sigmoid(%11) : f32[1, 1]
    %16 = multiply(%13, %2) : f32[1, 1]
    %17 = multiply(%12, %14) : f32[1, 1]
    %18 = add(%16, %17) : f32[1, 1]
    %19 = tanh(%18) : f32[1, 1]
    %20 = multiply(%15, %19) : f32[1, 1]
    return %20
  })"}},
  });
}

}  // namespace weft
