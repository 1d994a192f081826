// What symbolic dims are inside: polynomials over atoms, and the table that
// gives each one its number. symbol.h has what may be done with them.
//
// Threads: thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/tensor/symbol.h"

namespace weft::dims {

using Monomial = std::vector<int>;  // sorted atom numbers, with repetition
using Polynomial = std::map<Monomial, std::int64_t>;  // no zero coefficients

// It is either a name, or floor(numerator / divisor).
struct Atom {
  std::string name;
  Polynomial numerator;
  std::int64_t divisor = 0;

  auto operator<=>(const Atom&) const = default;
};

// How deep quotients, and brackets in texts, may nest.
constexpr int kMaxDepth = 32;

// These throw Error(kInvalidArgument).
[[noreturn]] void refuse(const char* why);
[[noreturn]] void refuse_negative();
// Unless it is at most kMaxDim, up or down.
void check_magnitude(std::int64_t size);
std::int64_t checked_product(std::int64_t a, std::int64_t b);

// Adds factor * monomial.
void add_term(Polynomial& sum, const Monomial& monomial, std::int64_t factor);
Polynomial multiply(const Polynomial& a, const Polynomial& b);
// How deep its quotients nest.
int depth_of(const Polynomial& polynomial);

// The dim that stands for it: a size, if it is one. Throws
// Error(kInvalidArgument) for a size below 0, and for what is too long.
Dim intern(const Polynomial& polynomial);
Polynomial expand(Dim dim);
// The number of an atom, which is given one when it is new.
int number_of(Atom wanted);
// It stays where it is for the life of the process.
const Atom& atom(int number);
// The dim of that atom alone.
Dim symbol_of(int atom);

}  // namespace weft::dims
