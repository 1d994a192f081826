// What symbols stand for: substituting it in dims, and learning it from them.
#include <algorithm>
#include <set>

#include "weft/tensor/dim_polynomial.h"

namespace weft {
namespace {

dims::Polynomial substitute_in(const dims::Polynomial& polynomial,
                               const Bindings& bindings) {
  dims::Polynomial result;
  for (const auto& [monomial, factor] : polynomial) {
    dims::Polynomial term{{{}, factor}};
    for (const int number : monomial) {
      const dims::Atom& atom = dims::atom(number);
      Dim value = 0;
      if (atom.divisor != 0) {
        value = dim_floor_divide(
            // A quotient is taken again once its numerator is known better: it
            // may come out even, or as a number.
            dims::intern(substitute_in(atom.numerator, bindings)),
            atom.divisor);
      } else {
        const Dim name = dims::symbol_of(number);
        value = bindings.find(name).value_or(name);
      }
      term = dims::multiply(term, dims::expand(value));
    }
    for (const auto& [key, count] : term) dims::add_term(result, key, count);
  }
  return result;
}

// The atoms that are unbound symbols, those inside quotients too.
std::set<int> unbound_in(const dims::Polynomial& polynomial,
                         const Bindings& bindings) {
  std::set<int> unbound;
  for (const auto& [monomial, factor] : polynomial) {
    for (const int number : monomial) {
      const dims::Atom& atom = dims::atom(number);
      if (atom.divisor != 0) {
        unbound.merge(unbound_in(atom.numerator, bindings));
      } else if (!bindings.find(dims::symbol_of(number))) {
        unbound.insert(number);
      }
    }
  }
  return unbound;
}

// x from factor * x + rest = actual, where a dim x exists.
std::optional<Dim> solve(std::int64_t factor, const dims::Polynomial& rest,
                         Dim actual) {
  WEFT_CHECK(factor != 0, "the unknown is not in the pattern");
  dims::Polynomial scaled = dims::expand(actual);
  for (const auto& [monomial, count] : rest) {
    dims::add_term(scaled, monomial, -count);
  }
  dims::Polynomial solution;
  for (const auto& [monomial, count] : scaled) {
    if (count % factor != 0) return std::nullopt;
    solution[monomial] = count / factor;
  }
  const bool is_size = solution.size() == 1 && solution.begin()->first.empty();
  // The actual size is smaller than the rest alone: it does not match, which is
  // no error here.
  if (is_size && solution.begin()->second < 0) return std::nullopt;
  return dims::intern(solution);
}

bool match_dim(Dim pattern, Dim actual, Bindings& bindings) {
  const dims::Polynomial wanted = dims::expand(pattern);
  const std::set<int> unbound = unbound_in(wanted, bindings);
  // With nothing to find out, the two have to be equal.
  if (unbound.empty()) return substitute(pattern, bindings) == actual;
  // One equation tells one unknown. A caller who knows more by another argument
  // asks again (bind_call).
  if (unbound.size() > 1) return false;
  // The pattern is read as factor * unknown + rest.
  const int unknown = *unbound.begin();
  std::int64_t factor = 0;
  dims::Polynomial rest;
  for (const auto& [monomial, count] : wanted) {
    if (monomial == dims::Monomial{unknown}) {
      factor = count;
    } else if (unbound_in({{monomial, count}}, bindings).empty()) {
      rest[monomial] = count;
    } else {
      return false;  // not linear
    }
  }
  const auto size = solve(factor, substitute_in(rest, bindings), actual);
  if (size) bindings.bind(dims::symbol_of(unknown), *size);
  return size.has_value();
}

}  // namespace

void Bindings::bind(Dim symbol, Dim size) {
  const auto place = std::lower_bound(
      sizes_.begin(), sizes_.end(), symbol,
      [](const auto& entry, Dim key) { return entry.first < key; });
  if (place != sizes_.end() && place->first == symbol)
    place->second = size;
  else
    sizes_.insert(place, {symbol, size});
}

std::optional<Dim> Bindings::find(Dim symbol) const {
  // A function has a few symbols, so a walk is as fast as a search.
  for (const auto& [name, size] : sizes_) {
    if (name == symbol) return size;
  }
  return std::nullopt;
}

Dim substitute(Dim dim, const Bindings& bindings) {
  if (!is_symbolic(dim)) return dim;
  return dims::intern(substitute_in(dims::expand(dim), bindings));
}

Shape substitute(const Shape& shape, const Bindings& bindings) {
  Shape result;
  for (const Dim dim : shape) result.push_back(substitute(dim, bindings));
  return result;
}

std::vector<Dim> symbols_of(const Shape& shape) {
  std::set<int> all;
  for (const Dim dim : shape) all.merge(unbound_in(dims::expand(dim), {}));
  std::vector<Dim> symbols;
  for (const int atom : all) symbols.push_back(dims::symbol_of(atom));
  return symbols;
}

bool determines(const Bindings& bindings, const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [&](Dim dim) {
    return unbound_in(dims::expand(dim), bindings).empty();
  });
}

bool match(const Shape& pattern, const Shape& actual, Bindings& bindings) {
  if (pattern.rank() != actual.rank()) return false;
  for (int axis = 0; axis < pattern.rank(); ++axis) {
    if (!match_dim(pattern[axis], actual[axis], bindings)) return false;
  }
  return true;
}

}  // namespace weft
