#include "weft/tensor/dim_polynomial.h"

#include <algorithm>
#include <deque>
#include <mutex>

namespace weft::dims {
namespace {

// Bounds on one expression, so that a hostile text cannot make its sums and
// products grow without end.
constexpr std::size_t kMaxTerms = 256;
constexpr std::size_t kMaxDegree = 64;

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

  int number_of(Atom wanted) {
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

}  // namespace

void refuse(const char* why) {
  throw Error(ErrorCode::kInvalidArgument, "dim", "{}", why);
}

void refuse_negative() { refuse("a dim cannot be negative"); }

void check_magnitude(std::int64_t size) {
  if (size < -kMaxDim || size > kMaxDim) refuse("a dim exceeds 2^52");
}

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) product = kMaxDim + 1;
  check_magnitude(product);
  return product;
}

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

int depth_of(const Polynomial& polynomial) {
  int depth = 0;
  for (const auto& [monomial, factor] : polynomial) {
    for (const int number : monomial) {
      const Atom& part = atom(number);
      if (part.divisor == 0) continue;
      depth = std::max(depth, 1 + depth_of(part.numerator));
    }
  }
  return depth;
}

Dim intern(const Polynomial& polynomial) {
  return Table::instance().intern(polynomial);
}

Polynomial expand(Dim dim) { return Table::instance().expand(dim); }

int number_of(Atom wanted) {
  return Table::instance().number_of(std::move(wanted));
}

const Atom& atom(int number) { return Table::instance().atom(number); }

Dim symbol_of(int atom) { return intern({{{atom}, 1}}); }

}  // namespace weft::dims
