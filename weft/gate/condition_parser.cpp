#include <fmt/core.h>
#include <optional>

#include "weft/base/call_reader.h"
#include "weft/gate/condition.h"

namespace weft {
namespace {

// So many parentheses may be within each other.
constexpr int kMostDepth = 32;

// A sum in the making: numbers may stand alone in it, as long as they become
// factors.
struct LinearForm {
  std::array<Decimal, kGateVariables> coefficients{};
  Decimal constant;
  bool has_variable = false;
};

class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : text_(text) {}

  GateCondition condition() {
    GateCondition condition;
    skip_space();
    do {
      if (condition.clauses.size() == kMostClauses) {
        throw fail(at_, fmt::format("more than {} clauses", kMostClauses));
      }
      condition.clauses.push_back(clause());
    } while (take("/\\"));
    if (at_ != text_.size()) {
      throw fail(at_, "the condition should end here, or go on with /\\");
    }
    return condition;
  }

 private:
  GateClause clause() {
    const std::size_t begin = at_;
    const LinearForm left = sum(0);
    GateClause clause;
    clause.is_greater = comparison();
    if (!left.constant.is_zero()) {
      throw fail(begin, "a number stands by itself among the variables")
          .hint("it belongs behind the comparison, with the other sign");
    }
    clause.coefficients = left.coefficients;
    if (!left.has_variable ||
        clause.coefficients == LinearForm().coefficients) {
      throw fail(begin, "the clause depends on no variable")
          .hint(
              "n is the new accuracy, o the old one, d the share of "
              "predictions that differ");
    }
    clause.threshold = signed_number("a number is due behind the comparison");
    const std::size_t place = at_;
    if (!take("+/-")) {
      throw fail(place, "the clause has no tolerance")
          .hint(
              "as in n > 0.9 +/- 0.05: no test set of a finite size could "
              "tell without one");
    }
    const std::size_t tolerance = at_;
    clause.tolerance = signed_number("a tolerance is due");
    if (clause.tolerance <= Decimal()) {
      throw fail(tolerance, "a tolerance must be above zero");
    }
    return clause;
  }

  bool comparison() {
    const std::size_t place = at_;
    if (starts_with("+/-")) {
      throw fail(place, "the tolerance belongs to the end of its clause")
          .hint("as in n > 0.9 +/- 0.05");
    }
    const bool is_greater = starts_with(">");
    if (!is_greater && !starts_with("<")) {
      throw fail(place, "> or < is due");
    }
    ++at_;
    if (starts_with("=")) {
      throw fail(place, "conditions know > and < only")
          .hint("with a tolerance it makes no difference");
    }
    skip_space();
    return is_greater;
  }

  LinearForm sum(int depth) {
    LinearForm total = product(depth);
    // A tolerance begins with a sign, and is no summand.
    while (!starts_with("+/-")) {
      const std::size_t place = at_;
      Decimal sign{kBillionthsOfOne};
      if (take("-")) {
        sign = -sign;
      } else if (!take("+")) {
        break;
      }
      total = plus(total, times(product(depth), sign, place), place);
    }
    return total;
  }

  LinearForm product(int depth) {
    LinearForm result = factor(depth);
    for (;;) {
      const std::size_t place = at_;
      if (starts_with("/") && !starts_with("/\\")) {
        throw fail(place, "conditions have no division")
            .hint("multiply by a number instead: 0.5 * n");
      }
      if (!take("*")) return result;
      const LinearForm next = factor(depth);
      if (result.has_variable && next.has_variable) {
        throw fail(place, "conditions have no products of variables")
            .hint("sums of them, each times a number");
      }
      result = result.has_variable ? times(result, next.constant, place)
                                   : times(next, result.constant, place);
    }
  }

  LinearForm factor(int depth) {
    const std::size_t place = at_;
    if (take("(")) {
      if (depth == kMostDepth) {
        throw fail(place,
                   fmt::format("more than {} parentheses within each other",
                               kMostDepth));
      }
      LinearForm inner = sum(depth + 1);
      if (!take(")")) throw fail(at_, "a ) is due");
      return inner;
    }
    if (at_ < text_.size() && is_letter(text_[at_])) return variable();
    LinearForm form;
    form.constant = signed_number("a variable or a number is due");
    return form;
  }

  LinearForm variable() {
    const std::size_t place = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]))) {
      ++at_;
    }
    const std::string_view name = text_.substr(place, at_ - place);
    skip_space();
    for (std::size_t i = 0; i < kGateVariables; ++i) {
      if (name.size() != 1 || name[0] != kGateVariableNames[i]) continue;
      LinearForm form;
      form.coefficients[i] = {kBillionthsOfOne};
      form.has_variable = true;
      return form;
    }
    throw fail(place, fmt::format("no variable is called '{}'", name))
        .hint(
            "n is the new accuracy, o the old one, d the share of "
            "predictions that differ");
  }

  Decimal signed_number(const char* what) {
    const std::size_t place = at_;
    const bool is_negative = take("-");
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) {
      ++at_;
    }
    if (at_ == begin) {
      // Where a variable stands on the wrong side, a word of it helps.
      Error error = fail(place, what);
      if (at_ < text_.size() && is_letter(text_[at_])) {
        error.hint(
            "all variables stand in front of the comparison: "
            "n - o > 0.02 +/- 0.01");
      }
      throw error;
    }
    const auto number = parse_decimal(text_.substr(begin, at_ - begin));
    if (!number) {
      throw fail(begin, fmt::format("is no number from 0 to {} with at most {} "
                                    "digits behind the point",
                                    to_string(kMostDecimal), kDecimalDigits));
    }
    skip_space();
    return is_negative ? -*number : *number;
  }

  LinearForm plus(const LinearForm& a, const LinearForm& b,
                  std::size_t place) const {
    LinearForm result;
    for (std::size_t i = 0; i < kGateVariables; ++i) {
      result.coefficients[i] =
          held(add(a.coefficients[i], b.coefficients[i]), place);
    }
    result.constant = held(add(a.constant, b.constant), place);
    result.has_variable = a.has_variable || b.has_variable;
    return result;
  }
  LinearForm times(const LinearForm& form, Decimal number,
                   std::size_t place) const {
    LinearForm result;
    for (std::size_t i = 0; i < kGateVariables; ++i) {
      result.coefficients[i] =
          held(multiply(form.coefficients[i], number), place);
    }
    result.constant = held(multiply(form.constant, number), place);
    result.has_variable = form.has_variable;
    return result;
  }
  Decimal held(const std::optional<Decimal>& number, std::size_t place) const {
    if (number) return *number;
    throw fail(place, fmt::format("the result is above {}, or has more than {} "
                                  "digits behind the point",
                                  to_string(kMostDecimal), kDecimalDigits));
  }

  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  bool starts_with(std::string_view token) const {
    return text_.substr(at_).starts_with(token);
  }
  bool take(std::string_view token) {
    if (!starts_with(token)) return false;
    at_ += token.size();
    skip_space();
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) {
      ++at_;
    }
  }
  Error fail(std::size_t place, std::string message) const {
    return at_place(
        Error(ErrorCode::kInvalidArgument, "condition", std::move(message)),
        text_, place);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

GateCondition parse_gate_condition(std::string_view text) {
  if (text.size() > kMostConditionBytes) {
    throw Error(ErrorCode::kInvalidArgument, "condition",
                "has {} bytes, more than {}", text.size(), kMostConditionBytes);
  }
  return ConditionParser(text).condition();
}

}  // namespace weft
