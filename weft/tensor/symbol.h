// Symbolic dims: sizes that are known only when a graph runs ("N" images).
//
// A symbolic dim is a polynomial with integer coefficients over named symbols
// and over floor quotients of such polynomials. It is interned: equal
// expressions are the same negative Dim, so shapes compare by value, and
// 2*N - N is N.
//
// Threads: thread-safe. The table only grows, by one entry per distinct
// expression that the process ever sees.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tensor/shape.h"

namespace weft {

struct TensorType;

constexpr bool is_symbolic(Dim dim) { return dim < 0; }

// The largest size, coefficient and number of bytes that arithmetic on dims
// gives: far above any memory, and far enough below 2^63 to compute with.
constexpr std::int64_t kMaxDim = std::int64_t{1} << 52;

// The symbol of that name: letters, digits and '_', not starting with a digit.
// Throws Error(kInvalidArgument) for another name.
Dim symbol(std::string_view name);

// These throw Error(kInvalidArgument) when the result is negative whatever the
// symbols stand for, exceeds kMaxDim, or is too long an expression.
Dim dim_add(Dim a, Dim b);
Dim dim_subtract(Dim a, Dim b);
Dim dim_multiply(Dim a, Dim b);
// floor(a / divisor); divisor > 0. Quotients nest at most 32 deep.
Dim dim_floor_divide(Dim a, std::int64_t divisor);
// a / b when it is a polynomial without remainder.
std::optional<Dim> dim_divide_exactly(Dim a, Dim b);
// Product of all dims.
Dim dim_product(std::span<const Dim> dims);

// Whether the known dims alone leave a tensor of this type below kMaxDim bytes.
bool is_addressable(const TensorType& type);

// "128", "N", "2*N+1", "(N-3)//2".
std::string to_string(Dim dim);
// Reads what to_string writes. Throws Error(kInvalidArgument).
Dim parse_dim(std::string_view text);

// What named symbols stand for in one run, or in one call of a function, where
// they may stand for symbolic dims of the caller.
class Bindings {
 public:
  void bind(Dim symbol, Dim size);
  std::optional<Dim> find(Dim symbol) const;
  std::size_t size() const { return sizes_.size(); }
  bool operator==(const Bindings&) const = default;

 private:
  std::vector<std::pair<Dim, Dim>> sizes_;  // sorted by symbol
};

// Replaces bound symbols, all at once; the result is static once all are bound
// to sizes.
Dim substitute(Dim dim, const Bindings& bindings);
Shape substitute(const Shape& shape, const Bindings& bindings);
// The symbols in the dims of `shape`, each once.
std::vector<Dim> symbols_of(const Shape& shape);
// Whether all symbols of `shape` are bound.
bool determines(const Bindings& bindings, const Shape& shape);

// Unifies a shape with the shape of an argument, adding to `bindings` what the
// symbols of `pattern` stand for. Learns one symbol from a dim, if the dim is
// linear in it. False when they cannot be equal, or too little is known.
bool match(const Shape& pattern, const Shape& actual, Bindings& bindings);

}  // namespace weft
