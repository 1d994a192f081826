// Arithmetic on dims.
#include "weft/tensor/symbol.h"

#include <algorithm>

#include "weft/tensor/dim_polynomial.h"
#include "weft/tensor/tensor.h"

namespace weft {

Dim dim_add(Dim a, Dim b) {
  // Most dims are numbers, for which no table is asked.
  if (!is_symbolic(a) && !is_symbolic(b)) {
    dims::check_magnitude(a);
    dims::check_magnitude(b);
    dims::check_magnitude(a + b);
    return a + b;
  }
  dims::Polynomial sum = dims::expand(a);
  for (const auto& [key, factor] : dims::expand(b)) {
    dims::add_term(sum, key, factor);
  }
  return dims::intern(sum);
}

Dim dim_subtract(Dim a, Dim b) {
  if (!is_symbolic(a) && !is_symbolic(b)) {
    if (a < b) dims::refuse_negative();
    return a - b;
  }
  dims::Polynomial difference = dims::expand(a);
  for (const auto& [key, factor] : dims::expand(b)) {
    dims::add_term(difference, key, -factor);
  }
  return dims::intern(difference);
}

Dim dim_multiply(Dim a, Dim b) {
  if (!is_symbolic(a) && !is_symbolic(b)) return dims::checked_product(a, b);
  return dims::intern(dims::multiply(dims::expand(a), dims::expand(b)));
}

Dim dim_floor_divide(Dim a, std::int64_t divisor) {
  WEFT_CHECK(divisor > 0);
  if (!is_symbolic(a)) return a / divisor;
  // A quotient that comes out even is a polynomial again, and so can be
  // compared and solved; only others become atoms.
  if (const auto exact = dim_divide_exactly(a, divisor)) return *exact;
  dims::check_magnitude(divisor);
  const dims::Polynomial numerator = dims::expand(a);
  // Printing and substituting recurse as deep as quotients nest.
  if (dims::depth_of(numerator) >= dims::kMaxDepth)
    dims::refuse("a dim nests too deep");
  return dims::intern({{{dims::number_of({"", numerator, divisor})}, 1}});
}

std::optional<Dim> dim_divide_exactly(Dim a, Dim b) {
  if (a == b) return 1;
  if (b == 0) return std::nullopt;
  const dims::Polynomial divisor = dims::expand(b);
  // Division by a sum would need the division of polynomials.
  if (divisor.size() != 1) return std::nullopt;
  const auto& [monomial, factor] = *divisor.begin();
  dims::Polynomial quotient;
  for (const auto& [term, count] : dims::expand(a)) {
    if (count % factor != 0 ||
        !std::includes(term.begin(), term.end(), monomial.begin(),
                       monomial.end())) {
      return std::nullopt;
    }
    dims::Monomial rest;
    std::set_difference(term.begin(), term.end(), monomial.begin(),
                        monomial.end(), std::back_inserter(rest));
    dims::add_term(quotient, rest, count / factor);
  }
  return dims::intern(quotient);
}

Dim dim_product(std::span<const Dim> dims) {
  Dim result = 1;
  for (const Dim dim : dims) result = dim_multiply(result, dim);
  return result;
}

bool is_addressable(const TensorType& type) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (const Dim dim : type.shape) {
    // Strides are products without the zeros.
    if (dim <= 0) continue;
    if (dim > kMaxDim / bytes) return false;
    bytes *= dim;
  }
  return true;
}

}  // namespace weft
