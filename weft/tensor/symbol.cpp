#include "weft/tensor/symbol.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "weft/tensor/tensor.h"

namespace weft {
namespace {

using Monomial = std::vector<int>;  // sorted atom numbers, with repetition
using Polynomial = std::map<Monomial, std::int64_t>;  // no zero coefficients

// It is either a name, or floor(numerator / divisor).
struct Atom {
  std::string name;
  Polynomial numerator;
  std::int64_t divisor = 0;

  auto operator<=>(const Atom&) const = default;
};

// Bounds on one expression, so that a hostile text cannot make its sums and
// products grow without end.
constexpr std::size_t kMaxTerms = 256;
constexpr std::size_t kMaxDegree = 64;
constexpr int kMaxDepth = 32;

[[noreturn]] void refuse(const char* why) {
  throw Error(ErrorCode::kInvalidArgument, "dim", "{}", why);
}

[[noreturn]] void refuse_negative() { refuse("a dim cannot be negative"); }

void check_magnitude(std::int64_t size) {
  if (size < -kMaxDim || size > kMaxDim) refuse("a dim exceeds 2^52");
}

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) product = kMaxDim + 1;
  check_magnitude(product);
  return product;
}

void check_polynomial(const Polynomial& polynomial) {
  if (polynomial.size() > kMaxTerms) refuse("a dim has too many terms");
  for (const auto& [monomial, factor] : polynomial) {
    check_magnitude(factor);
    if (monomial.size() > kMaxDegree) refuse("a dim has too many factors");
  }
}

class Table {
 public:
  static Table& instance() {
    static Table table;
    return table;
  }

  // A dim is one number: a size, or the place of an expression in this table,
  // which is kept for the life of the process. So shapes are compared and
  // copied like numbers.
  Dim intern(const Polynomial& polynomial) {
    // The sum of nothing is zero, and a constant term alone is a plain size:
    // neither needs an entry.
    if (polynomial.empty()) return 0;
    if (polynomial.size() == 1 && polynomial.begin()->first.empty()) {
      const Dim size = polynomial.begin()->second;
      if (size < 0) refuse_negative();
      check_magnitude(size);
      return size;
    }
    check_polynomial(polynomial);
    std::lock_guard lock(mutex_);
    const auto [entry, is_new] = dims_.try_emplace(
        polynomial, kFirst - static_cast<Dim>(polynomials_.size()));
    if (is_new) polynomials_.push_back(polynomial);
    return entry->second;
  }

  Polynomial expand(Dim dim) {
    if (!is_symbolic(dim)) {
      check_magnitude(dim);
      return dim == 0 ? Polynomial{} : Polynomial{{{}, dim}};
    }
    std::lock_guard lock(mutex_);
    const auto index = static_cast<std::size_t>(kFirst - dim);
    WEFT_CHECK(dim <= kFirst && index < polynomials_.size(),
               "unknown symbol {}", dim);
    return polynomials_[index];
  }

  int atom(Atom wanted) {
    std::lock_guard lock(mutex_);
    const auto [entry, is_new] =
        numbers_.try_emplace(wanted, static_cast<int>(atoms_.size()));
    if (is_new) atoms_.push_back(std::move(wanted));
    return entry->second;
  }

  // Atoms never move or change, so the reference outlives the lock.
  const Atom& atom(int number) {
    std::lock_guard lock(mutex_);
    return atoms_[static_cast<std::size_t>(number)];
  }

 private:
  // -1 is no symbol: reshape() takes it for "what is left".
  static constexpr Dim kFirst = -2;

  std::mutex mutex_;
  // Deques keep their elements where they are while they grow.
  std::deque<Atom> atoms_;
  std::map<Atom, int> numbers_;
  std::deque<Polynomial> polynomials_;
  std::map<Polynomial, Dim> dims_;
};

Table& table() { return Table::instance(); }

void add_term(Polynomial& sum, const Monomial& monomial, std::int64_t factor) {
  const auto entry = sum.try_emplace(monomial, 0).first;
  entry->second += factor;
  // Equal expressions have equal polynomials only if no term is zero: that
  // makes comparing dims a comparison of numbers.
  if (entry->second == 0) sum.erase(entry);
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  // Terms may cancel, so the product is allowed to be larger for a moment;
  // intern() checks what is left.
  if (a.size() * b.size() > 4 * kMaxTerms) refuse("a dim has too many terms");
  Polynomial product;
  for (const auto& [left, left_factor] : a) {
    for (const auto& [right, right_factor] : b) {
      Monomial both = left;
      both.insert(both.end(), right.begin(), right.end());
      // Sorted, equal products are equal lists.
      std::sort(both.begin(), both.end());
      add_term(product, both, checked_product(left_factor, right_factor));
    }
  }
  return product;
}

std::string atom_text(int number) {
  const Atom& atom = table().atom(number);
  if (atom.divisor == 0) return atom.name;
  return fmt::format("({})//{}", to_string(table().intern(atom.numerator)),
                     atom.divisor);
}

std::string polynomial_text(const Polynomial& polynomial) {
  std::string text;
  // Highest degree first reads naturally: N*T+2*N-1.
  for (auto term = polynomial.rbegin(); term != polynomial.rend(); ++term) {
    const auto& [monomial, factor] = *term;
    if (factor < 0)
      text += '-';
    else if (!text.empty())
      text += '+';
    const std::int64_t size = factor < 0 ? -factor : factor;
    if (size != 1 || monomial.empty()) {
      text += fmt::format("{}", size);
      if (!monomial.empty()) text += '*';
    }
    for (std::size_t i = 0; i < monomial.size(); ++i) {
      if (i > 0) text += '*';
      text += atom_text(monomial[i]);
    }
  }
  return text;
}

// How deep quotients nest.
int depth_of(const Polynomial& polynomial) {
  int depth = 0;
  for (const auto& [monomial, factor] : polynomial) {
    for (const int number : monomial) {
      const Atom& atom = table().atom(number);
      if (atom.divisor == 0) continue;
      depth = std::max(depth, 1 + depth_of(atom.numerator));
    }
  }
  return depth;
}

Dim symbol_of(int atom) { return table().intern({{{atom}, 1}}); }

Polynomial substitute_in(const Polynomial& polynomial,
                         const Bindings& bindings) {
  Polynomial result;
  for (const auto& [monomial, factor] : polynomial) {
    Polynomial term{{{}, factor}};
    for (const int number : monomial) {
      const Atom& atom = table().atom(number);
      Dim value = 0;
      if (atom.divisor != 0) {
        value = dim_floor_divide(
            // A quotient is taken again once its numerator is known better: it
            // may come out even, or as a number.
            table().intern(substitute_in(atom.numerator, bindings)),
            atom.divisor);
      } else {
        const Dim name = symbol_of(number);
        value = bindings.find(name).value_or(name);
      }
      term = multiply(term, table().expand(value));
    }
    for (const auto& [key, count] : term) add_term(result, key, count);
  }
  return result;
}

// The atoms that are unbound symbols, those inside quotients too.
std::set<int> unbound_in(const Polynomial& polynomial,
                         const Bindings& bindings) {
  std::set<int> unbound;
  for (const auto& [monomial, factor] : polynomial) {
    for (const int number : monomial) {
      const Atom& atom = table().atom(number);
      if (atom.divisor != 0) {
        unbound.merge(unbound_in(atom.numerator, bindings));
      } else if (!bindings.find(symbol_of(number))) {
        unbound.insert(number);
      }
    }
  }
  return unbound;
}

// x from factor * x + rest = actual, where a dim x exists.
std::optional<Dim> solve(std::int64_t factor, const Polynomial& rest,
                         Dim actual) {
  WEFT_CHECK(factor != 0, "the unknown is not in the pattern");
  Polynomial scaled = table().expand(actual);
  for (const auto& [monomial, count] : rest) {
    add_term(scaled, monomial, -count);
  }
  Polynomial solution;
  for (const auto& [monomial, count] : scaled) {
    if (count % factor != 0) return std::nullopt;
    solution[monomial] = count / factor;
  }
  const bool is_size = solution.size() == 1 && solution.begin()->first.empty();
  // The actual size is smaller than the rest alone: it does not match, which is
  // no error here.
  if (is_size && solution.begin()->second < 0) return std::nullopt;
  return table().intern(solution);
}

bool match_dim(Dim pattern, Dim actual, Bindings& bindings) {
  const Polynomial wanted = table().expand(pattern);
  const std::set<int> unbound = unbound_in(wanted, bindings);
  // With nothing to find out, the two have to be equal.
  if (unbound.empty()) return substitute(pattern, bindings) == actual;
  // One equation tells one unknown. A caller who knows more by another argument
  // asks again (bind_call).
  if (unbound.size() > 1) return false;
  // The pattern is read as factor * unknown + rest.
  const int unknown = *unbound.begin();
  std::int64_t factor = 0;
  Polynomial rest;
  for (const auto& [monomial, count] : wanted) {
    if (monomial == Monomial{unknown}) {
      factor = count;
    } else if (unbound_in({{monomial, count}}, bindings).empty()) {
      rest[monomial] = count;
    } else {
      return false;  // not linear
    }
  }
  const auto size = solve(factor, substitute_in(rest, bindings), actual);
  if (size) bindings.bind(symbol_of(unknown), *size);
  return size.has_value();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Recursive descent over: sum = product {(+|-) product},
// product = unit {* unit}, unit = number | name | '(' sum ')' ['//' number].
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Dim parse() {
    const Dim result = sum(0);
    if (position_ != text_.size()) fail();
    return result;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::kInvalidArgument, "dim",
                "cannot read '{}' at column {}", text_, position_ + 1);
  }
  bool accept(std::string_view token) {
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  Dim sum(int depth) {
    // Each bracket is a call of this function, on the thread's stack.
    if (depth > kMaxDepth) fail();
    Dim result = accept("-") ? dim_subtract(0, product(depth)) : product(depth);
    while (position_ < text_.size()) {
      if (accept("+"))
        result = dim_add(result, product(depth));
      else if (accept("-"))
        result = dim_subtract(result, product(depth));
      else
        break;
    }
    return result;
  }
  Dim product(int depth) {
    Dim result = unit(depth);
    while (accept("*")) result = dim_multiply(result, unit(depth));
    return result;
  }
  Dim unit(int depth) {
    if (accept("(")) {
      const Dim inner = sum(depth + 1);
      if (!accept(")")) fail();
      if (!accept("//")) return inner;
      const std::int64_t divisor = number();
      if (divisor == 0) fail();
      return dim_floor_divide(inner, divisor);
    }
    if (position_ < text_.size() && is_digit(text_[position_])) {
      return number();
    }
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    if (begin == position_) fail();
    return symbol(text_.substr(begin, position_ - begin));
  }
  std::int64_t number() {
    std::int64_t value = 0;
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_digit(text_[position_])) {
      value = value * 10 + (text_[position_++] - '0');
      // It is checked at every digit, before the number can overflow.
      if (value > kMaxDim) fail();
    }
    if (begin == position_) fail();
    return value;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

Dim symbol(std::string_view name) {
  // Another name would print as an expression that reads back as something
  // else: a symbol "2*N" as twice N.
  if (name.empty() || is_digit(name[0]) ||
      !std::all_of(name.begin(), name.end(), is_word)) {
    throw Error(ErrorCode::kInvalidArgument, "symbol",
                "'{}' is no name of a dim", name)
        .hint("letters, digits and '_', not beginning with a digit");
  }
  return table().intern({{{table().atom({std::string(name), {}, 0})}, 1}});
}

Dim dim_add(Dim a, Dim b) {
  // Most dims are numbers, for which no table is asked.
  if (!is_symbolic(a) && !is_symbolic(b)) {
    check_magnitude(a);
    check_magnitude(b);
    check_magnitude(a + b);
    return a + b;
  }
  Polynomial sum = table().expand(a);
  for (const auto& [key, factor] : table().expand(b)) {
    add_term(sum, key, factor);
  }
  return table().intern(sum);
}

Dim dim_subtract(Dim a, Dim b) {
  if (!is_symbolic(a) && !is_symbolic(b)) {
    if (a < b) refuse_negative();
    return a - b;
  }
  Polynomial difference = table().expand(a);
  for (const auto& [key, factor] : table().expand(b)) {
    add_term(difference, key, -factor);
  }
  return table().intern(difference);
}

Dim dim_multiply(Dim a, Dim b) {
  if (!is_symbolic(a) && !is_symbolic(b)) return checked_product(a, b);
  return table().intern(multiply(table().expand(a), table().expand(b)));
}

Dim dim_floor_divide(Dim a, std::int64_t divisor) {
  WEFT_CHECK(divisor > 0);
  if (!is_symbolic(a)) return a / divisor;
  // A quotient that comes out even is a polynomial again, and so can be
  // compared and solved; only others become atoms.
  if (const auto exact = dim_divide_exactly(a, divisor)) return *exact;
  check_magnitude(divisor);
  const Polynomial numerator = table().expand(a);
  // Printing and substituting recurse as deep as quotients nest.
  if (depth_of(numerator) >= kMaxDepth) refuse("a dim nests too deep");
  return table().intern({{{table().atom({"", numerator, divisor})}, 1}});
}

std::optional<Dim> dim_divide_exactly(Dim a, Dim b) {
  if (a == b) return 1;
  if (b == 0) return std::nullopt;
  const Polynomial divisor = table().expand(b);
  // Division by a sum would need the division of polynomials.
  if (divisor.size() != 1) return std::nullopt;
  const auto& [monomial, factor] = *divisor.begin();
  Polynomial quotient;
  for (const auto& [term, count] : table().expand(a)) {
    if (count % factor != 0 ||
        !std::includes(term.begin(), term.end(), monomial.begin(),
                       monomial.end())) {
      return std::nullopt;
    }
    Monomial rest;
    std::set_difference(term.begin(), term.end(), monomial.begin(),
                        monomial.end(), std::back_inserter(rest));
    add_term(quotient, rest, count / factor);
  }
  return table().intern(quotient);
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

std::string to_string(Dim dim) {
  return is_symbolic(dim) ? polynomial_text(table().expand(dim))
                          : fmt::format("{}", dim);
}

Dim parse_dim(std::string_view text) { return DimParser(text).parse(); }

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
  return table().intern(substitute_in(table().expand(dim), bindings));
}

Shape substitute(const Shape& shape, const Bindings& bindings) {
  Shape result;
  for (const Dim dim : shape) result.push_back(substitute(dim, bindings));
  return result;
}

bool determines(const Bindings& bindings, const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [&](Dim dim) {
    return unbound_in(table().expand(dim), bindings).empty();
  });
}

bool match(const Shape& pattern, const Shape& actual, Bindings& bindings) {
  if (pattern.rank() != actual.rank()) return false;
  for (int axis = 0; axis < pattern.rank(); ++axis) {
    if (!match_dim(pattern[axis], actual[axis], bindings)) return false;
  }
  return true;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += to_string(shape[axis]);
  }
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(to_string(type.dtype)) + to_string(type.shape);
}

}  // namespace weft
