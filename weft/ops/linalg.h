// Factors of matrices [..., rows, columns], in f32 and f64. A matrix that holds
// a number which is not finite has factors of NaN alone. All of them take time
// in proportion to the cube of the sides.
//
// Throws Error(kInvalidArgument) for operands that are no matrices of floats or
// have sides that are not known, and where a shape is not the one that stands
// below.
#pragma once

#include <array>
#include <utility>

#include "weft/graph/context.h"

namespace weft {

// The lower triangle L with L Lᵀ = (x + xᵀ) / 2; NaN unless that is positive
// definite.
Value cholesky(const Operand& x);

struct TriangularOptions {
  bool lower = true;  // else the upper triangle is read; the other never is
  bool transpose = false;
  bool unit_diagonal = false;  // ones stand for the diagonal
};
// X with a X = b, or aᵀ X = b, for triangles [..., n, n] and [..., n, m].
Value triangular_solve(const Operand& a, const Operand& b,
                       const TriangularOptions& options = {});

// Elimination with row pivots, for x [..., n, n]: `order` (i64 [..., n])
// numbers x's rows as the pivots took them, and x[order] is l u. `factors` has
// the upper triangle u, and below its diagonal l, for whose own diagonal ones
// stand. `sign`
// [...] is 1 or -1, that of the permutation, so that x's determinant is the
// product of u's diagonal and of it. Without an inverse there are factors, too,
// with a 0 on that diagonal, but no gradient that is finite. Rows of matrices
// that have no factors are in order.
std::array<Value, 3> lu(const Operand& x);
// q [..., m, n] with orthonormal columns and the upper triangle r [..., n, n],
// no negative number on its diagonal; q r is x [..., m, n], of m >= n.
std::pair<Value, Value> qr(const Operand& x);
// The eigenvalues of (x + xᵀ) / 2, ascending, and their vectors as columns. The
// number of a vector that is farthest from 0 is positive.
std::pair<Value, Value> eigh(const Operand& x);
// u [..., m, k], s [..., k] descending and vᵀ [..., k, n], k the smaller of m
// and n; u diag(s) vᵀ is x. Columns of u have the signs that eigh's have.
std::array<Value, 3> svd(const Operand& x);

}  // namespace weft
