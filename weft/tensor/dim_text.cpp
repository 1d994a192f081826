// Dims, shapes and types as texts.
#include <algorithm>
#include <cctype>

#include "weft/tensor/dim_polynomial.h"
#include "weft/tensor/tensor.h"

namespace weft {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::string atom_text(int number) {
  const dims::Atom& atom = dims::atom(number);
  if (atom.divisor == 0) return atom.name;
  return fmt::format("({})//{}", to_string(dims::intern(atom.numerator)),
                     atom.divisor);
}

std::string polynomial_text(const dims::Polynomial& polynomial) {
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
    if (depth > dims::kMaxDepth) fail();
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
  return dims::intern({{{dims::number_of({std::string(name), {}, 0})}, 1}});
}

std::string to_string(Dim dim) {
  return is_symbolic(dim) ? polynomial_text(dims::expand(dim))
                          : fmt::format("{}", dim);
}

Dim parse_dim(std::string_view text) { return DimParser(text).parse(); }

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
