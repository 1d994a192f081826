#include "weft/compiler/form_attention.h"

#include "weft/compiler/pass.h"

namespace weft {

void register_pass_form_attention(PassRegistry& passes) {
  passes.add({
      .name = "form_attention",
      .summary = "makes one op of attention, its masks and the transpositions "
                 "of its heads",
      .order = 84,
      // Products and sums are added up in another order.
      .keeps_bits = false,
      .run = form_attention,
      .samples =
          {// As PyTorch exports it: one product for queries, keys and values.
           {R"(func @f(%0: f32[2, 3, 12]) -> (f32[2, 3, 4]) {
    %1 = reshape(%0) {shape = shape[2, 3, 3, 2, 2]} : f32[2, 3, 3, 2, 2]
    %2 = transpose(%1) {permutation = [2, 0, 3, 1, 4]} : f32[3, 2, 2, 3, 2]
    %3, %4, %5 = split(%2) {sizes = [1, 1, 1], axis = 0} : f32[1, 2, 2, 3, 2], f32[1, 2, 2, 3, 2], f32[1, 2, 2, 3, 2]
    %6 = reshape(%3) {shape = shape[2, 2, 3, 2]} : f32[2, 2, 3, 2]
    %7 = reshape(%4) {shape = shape[2, 2, 3, 2]} : f32[2, 2, 3, 2]
    %8 = reshape(%5) {shape = shape[2, 2, 3, 2]} : f32[2, 2, 3, 2]
    %9 = full() {shape = shape[], value = 0.5, dtype = f32} : f32[]
    %10 = multiply(%6, %9) : f32[2, 2, 3, 2]
    %11 = matmul(%10, %7) {transpose_b = true} : f32[2, 2, 3, 3]
    %12 = softmax(%11) {axis = 3} : f32[2, 2, 3, 3]
    %13 = matmul(%12, %8) : f32[2, 2, 3, 2]
    %14 = transpose(%13) {permutation = [0, 2, 1, 3]} : f32[2, 3, 2, 2]
    %15 = reshape(%14) {shape = shape[2, 3, 4]} : f32[2, 3, 4]
    return %15
  })",
            R"(func @f(%0: f32[2, 3, 12]) -> (f32[2, 3, 4]) {
    %1 = multi_head_attention(%0, %0, %0) {heads = 2, width = 2, value_width = 2, first = [0, 4, 8], step = [2, 2, 2], scale = 0.5, causal = false, length_first = false, apart = false} : f32[2, 3, 4]
    %2 = reshape(%1) {shape = shape[2, 3, 2, 2]} : f32[2, 3, 2, 2]
    %3 = reshape(%2) {shape = shape[2, 3, 4]} : f32[2, 3, 4]
    return %3
  })"},
           // With the length first, and a mask that is added.
           {R"(func @f(%0: f32[3, 2, 4], %1: f32[5, 2, 4], %2: f32[5, 2, 4], %3: f32[2, 1, 1, 5]) -> (f32[3, 2, 4]) {
    %4 = reshape(%0) {shape = shape[3, 4, 2]} : f32[3, 4, 2]
    %5 = transpose(%4) {permutation = [1, 0, 2]} : f32[4, 3, 2]
    %6 = reshape(%5) {shape = shape[2, 2, 3, 2]} : f32[2, 2, 3, 2]
    %7 = reshape(%1) {shape = shape[5, 4, 2]} : f32[5, 4, 2]
    %8 = transpose(%7) {permutation = [1, 2, 0]} : f32[4, 2, 5]
    %9 = reshape(%8) {shape = shape[2, 2, 2, 5]} : f32[2, 2, 2, 5]
    %10 = reshape(%2) {shape = shape[5, 4, 2]} : f32[5, 4, 2]
    %11 = transpose(%10) {permutation = [1, 0, 2]} : f32[4, 5, 2]
    %12 = reshape(%11) {shape = shape[2, 2, 5, 2]} : f32[2, 2, 5, 2]
    %13 = matmul(%6, %9) : f32[2, 2, 3, 5]
    %14 = full() {shape = shape[1], value = 2.0, dtype = f32} : f32[1]
    %15 = divide(%13, %14) : f32[2, 2, 3, 5]
    %16 = add(%15, %3) : f32[2, 2, 3, 5]
    %17 = softmax(%16) {axis = 3} : f32[2, 2, 3, 5]
    %18 = matmul(%17, %12) : f32[2, 2, 3, 2]
    %19 = transpose(%18) {permutation = [2, 0, 1, 3]} : f32[3, 2, 2, 2]
    %20 = reshape(%19) {shape = shape[3, 2, 4]} : f32[3, 2, 4]
    return %20
  })",
            R"(func @f(%0: f32[3, 2, 4], %1: f32[5, 2, 4], %2: f32[5, 2, 4], %3: f32[2, 1, 1, 5]) -> (f32[3, 2, 4]) {
    %4 = multi_head_attention(%0, %1, %2, %3) {heads = 2, width = 2, value_width = 2, first = [0, 0, 0], step = [2, 2, 2], scale = 0.5, causal = false, length_first = true, apart = false} : f32[3, 2, 4]
    %5 = reshape(%4) {shape = shape[3, 2, 2, 2]} : f32[3, 2, 2, 2]
    %6 = reshape(%5) {shape = shape[3, 2, 4]} : f32[3, 2, 4]
    return %6
  })"},
           // Attention itself, of heads that lie in columns.
           {R"(func @f(%0: f32[1, 3, 4], %1: f32[1, 5, 4], %2: f32[1, 5, 4], %3: bool[5]) -> (f32[1, 3, 4]) {
    %4 = reshape(%0) {shape = shape[1, 3, 2, 2]} : f32[1, 3, 2, 2]
    %5 = transpose(%4) {permutation = [0, 2, 1, 3]} : f32[1, 2, 3, 2]
    %6 = reshape(%1) {shape = shape[1, 5, 2, 2]} : f32[1, 5, 2, 2]
    %7 = transpose(%6) {permutation = [0, 2, 1, 3]} : f32[1, 2, 5, 2]
    %8 = reshape(%2) {shape = shape[1, 5, 2, 2]} : f32[1, 5, 2, 2]
    %9 = transpose(%8) {permutation = [0, 2, 1, 3]} : f32[1, 2, 5, 2]
    %10, %11 = attention(%5, %7, %9, %3) : f32[1, 2, 3, 2], f32[1, 2, 3]
    %12 = transpose(%10) {permutation = [0, 2, 1, 3]} : f32[1, 3, 2, 2]
    %13 = reshape(%12) {shape = shape[1, 3, 4]} : f32[1, 3, 4]
    return %13
  })",
            R"(func @f(%0: f32[1, 3, 4], %1: f32[1, 5, 4], %2: f32[1, 5, 4], %3: bool[5]) -> (f32[1, 3, 4]) {
    %4 = multi_head_attention(%0, %1, %2, %3) {heads = 2, width = 2, value_width = 2, first = [0, 0, 0], step = [2, 2, 2], scale = 0.7071067811865475, causal = false, length_first = false, apart = false} : f32[1, 3, 4]
    %5 = reshape(%4) {shape = shape[1, 3, 2, 2]} : f32[1, 3, 2, 2]
    %6 = reshape(%5) {shape = shape[1, 3, 4]} : f32[1, 3, 4]
    return %6
  })"},
           // Heads that are apart stay so; hidden scores are added to.
           {R"(func @f(%0: f32[2, 3, 4], %1: f32[2, 5, 4], %2: f32[2, 5, 6], %3: bool[3, 5]) -> (f32[2, 3, 6]) {
    %4 = matmul(%0, %1) {transpose_b = true} : f32[2, 3, 5]
    %5 = full() {shape = shape[], value = -1e+38, dtype = f32} : f32[]
    %6 = where(%3, %4, %5) : f32[2, 3, 5]
    %7 = softmax(%6) {axis = 2} : f32[2, 3, 5]
    %8 = matmul(%7, %2) : f32[2, 3, 6]
    return %8
  })",
            R"(func @f(%0: f32[2, 3, 4], %1: f32[2, 5, 4], %2: f32[2, 5, 6], %3: bool[3, 5]) -> (f32[2, 3, 6]) {
    %4 = full() {shape = shape[], value = -1e+38, dtype = f32} : f32[]
    %5 = full() {shape = shape[], value = 0.0, dtype = f32} : f32[]
    %6 = where(%3, %5, %4) : f32[3, 5]
    %7 = multi_head_attention(%0, %1, %2, %6) {heads = 1, width = 4, value_width = 6, first = [0, 0, 0], step = [4, 4, 6], scale = 1.0, causal = false, length_first = false, apart = false} : f32[2, 3, 6]
    return %7
  })"},
           // The weights are read by somebody else, as by a gradient.
           {R"(func @f(%0: f32[2, 3, 4], %1: f32[2, 5, 4], %2: f32[2, 5, 6]) -> (f32[2, 3, 6], f32[2, 3, 5]) {
    %3 = matmul(%0, %1) {transpose_b = true} : f32[2, 3, 5]
    %4 = softmax(%3) {axis = 2} : f32[2, 3, 5]
    %5 = matmul(%4, %2) : f32[2, 3, 6]
    return %5, %4
  })"},
           // A softmax over the queries is another one.
           {R"(func @f(%0: f32[2, 3, 4], %1: f32[2, 5, 4], %2: f32[2, 5, 6]) -> (f32[2, 3, 6]) {
    %3 = matmul(%0, %1) {transpose_b = true} : f32[2, 3, 5]
    %4 = softmax(%3) {axis = 1} : f32[2, 3, 5]
    %5 = matmul(%4, %2) : f32[2, 3, 6]
    return %5
  })"},
           // Few queries have a kernel that shares out the keys.
           {R"(func @f(%0: f32[2, 2, 4], %1: f32[2, 5, 4], %2: f32[2, 5, 6]) -> (f32[2, 2, 6]) {
    %3 = matmul(%0, %1) {transpose_b = true} : f32[2, 2, 5]
    %4 = softmax(%3) {axis = 2} : f32[2, 2, 5]
    %5 = matmul(%4, %2) : f32[2, 2, 6]
    return %5
  })"}},
  });
}

}  // namespace weft
