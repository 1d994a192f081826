// A product of matrices (ops/support/product.h) as oneDNN sees it.
//
// Threads: a value type.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "weft/graph/op.h"

namespace weft::onednn {

struct Product {
  // Of one rank. Rows against one matrix are a single product of more rows, so
  // these need not be the call's.
  TensorType a, b, y;
  bool transpose_a, transpose_b;

  explicit Product(const OpCall& call);

  struct Operands {
    dnnl::memory::desc a, b, y;
  };
  // Transposition is expressed by strides.
  Operands operands() const;

  bool is_plain() const { return y.shape.rank() == 2; }
  Dim m() const { return y.shape[y.shape.rank() - 2]; }
  Dim n() const { return y.shape.back(); }
  Dim k() const { return a.shape[a.shape.rank() - (transpose_a ? 2 : 1)]; }
};

}  // namespace weft::onednn
