// Finds cells of LSTM and GRU among separate ops: their gates in one product or
// in several, in any order, with biases or without, with sums in any order.
//
//   c' = f c + i g,  h' = o tanh(c')       i, f, o = σ(…), g = tanh(…)
//   h' = (1 - z) n + z h                   n = tanh(… + r (…)), r, z = σ(…)
//
// A cell is one only if all its weights are constants, as those of a model that
// is served are: then they can be put side by side and packed once. What is
// changed in between, by a clip of a gate say, is none.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

// Columns of a constant, which something is multiplied by or which is added.
struct ConstantColumns {
  const Tensor* tensor;
  Dim first;                   // of the columns
  bool is_transposed = false;  // then they are rows

  bool operator==(const ConstantColumns&) const = default;
};

// What a gate is the function of: products and biases that are added up.
struct GateSum {
  std::vector<std::pair<ValueId, ConstantColumns>> products;
  std::vector<ConstantColumns> biases;
};

struct RecurrentCell {
  enum class Kind { kLstm, kGru } kind;
  ValueId x;  // [batch, inputs]
  ValueId h;  // [batch, hidden]
  ValueId c;  // the same, of an LSTM
  // In the order of the op: i, f, g, o, or r, z, n. Of a GRU the last one is
  // what h is multiplied by for n, and the one before what x is.
  std::vector<GateSum> gates;
  ValueId next_h, next_c;  // the results; the second of an LSTM alone
};

// All cells of a function, in its order.
std::vector<RecurrentCell> find_recurrent_cells(const Function& function);

}  // namespace weft
