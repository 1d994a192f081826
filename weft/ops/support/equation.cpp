#include "weft/ops/support/equation.h"

#include <algorithm>
#include <cctype>

#include "weft/tensor/symbol.h"

namespace weft {
namespace {

constexpr std::string_view kDots = "...";

std::string name_of(Label label) {
  if (label < 0) return fmt::format("axis {} of '...'", label);
  return fmt::format("label '{}'", static_cast<char>(label));
}

std::vector<std::string> terms_of(const std::string& text) {
  std::vector<std::string> terms(1);
  for (const char c : text) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  return terms;
}

class Reader {
 public:
  explicit Reader(const std::function<Error(const std::string&)>& fail)
      : fail_(fail) {}

  Equation read(std::string text, const std::vector<Shape>& operands) {
    // NumPy ignores blanks, too.
    std::erase(text, ' ');
    const std::size_t arrow = text.find("->");
    const auto terms = terms_of(text.substr(0, arrow));
    if (terms.size() != operands.size()) {
      throw fail_(fmt::format("'{}' has {} terms, but there are {} operands",
                              text, terms.size(), operands.size()));
    }
    for (std::size_t i = 0; i < terms.size(); ++i) {
      add_operand(terms[i], operands[i], i);
    }
    // "ij,jk" without an arrow means what NumPy infers; "ij->" asks for the sum
    // of all.
    if (arrow == text.npos)
      infer_result();
    else
      read_result(text.substr(arrow + 2));
    return std::move(equation_);
  }

 private:
  // The labels of a term in which "..." stands for that many axes.
  Labels labels_of(const std::string& term, int axes_of_dots) {
    Labels labels;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, kDots.size(), kDots) == 0) {
        if (term.find(kDots, i + kDots.size()) != term.npos) {
          throw fail_(fmt::format("'{}' has more than one '...'", term));
        }
        // Axes of "..." are counted from the end, -1 last, so that operands
        // with fewer of them align as broadcasting does.
        for (int axis = axes_of_dots; axis > 0; --axis) {
          labels.push_back(-axis);
        }
        i += kDots.size() - 1;
      } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
        labels.push_back(term[i]);
      } else {
        throw fail_(fmt::format("'{}' in '{}' is no letter", term[i], term));
      }
    }
    return labels;
  }

  void add_operand(const std::string& term, const Shape& shape,
                   std::size_t operand) {
    const int letters = static_cast<int>(labels_of(term, 0).size());
    const bool has_dots = term.find(kDots) != term.npos;
    const int rest = shape.rank() - letters;
    if (rest < 0 || (rest > 0 && !has_dots)) {
      throw fail_(fmt::format("operand {} has {} axes, but '{}' names {}",
                              operand, shape.rank(), term, letters));
    }
    // The dots take what axes the letters leave over.
    equation_.operands.push_back(labels_of(term, rest));
    most_dots_ = std::max(most_dots_, has_dots ? rest : 0);
    // These are the dims of this operand alone, before 1 stretches.
    std::map<Label, Dim> own;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Label label =
          equation_.operands.back()[static_cast<std::size_t>(axis)];
      const auto [first, is_new] = own.try_emplace(label, shape[axis]);
      // A diagonal needs a square; nothing is repeated for it.
      if (!is_new && first->second != shape[axis]) {
        throw differing(label, first->second, shape[axis], operand);
      }
      unify(label, shape[axis], operand);
    }
  }

  void unify(Label label, Dim size, std::size_t operand) {
    Dim& common = equation_.sizes.try_emplace(label, size).first->second;
    // An axis of 1 stretches to what others say, in whatever order they come.
    if (common == 1) common = size;
    if (size != 1 && size != common) {
      throw differing(label, common, size, operand);
    }
  }

  Error differing(Label label, Dim one, Dim other, std::size_t operand) {
    return fail_(fmt::format("{} is {}, but {} in operand {}", name_of(label),
                             to_string(one), to_string(other), operand));
  }

  void infer_result() {
    // Broadcast axes lead the result, as in NumPy.
    for (int axis = most_dots_; axis > 0; --axis) {
      equation_.result.push_back(-axis);
    }
    // A letter that stands once is kept; one that stands twice is summed over.
    for (const auto& [label, size] : equation_.sizes) {
      std::ptrdiff_t uses = 0;
      for (const Labels& labels : equation_.operands) {
        uses += std::count(labels.begin(), labels.end(), label);
      }
      // The map is in order of the alphabet.
      if (label > 0 && uses == 1) equation_.result.push_back(label);
    }
  }

  void read_result(const std::string& term) {
    // Summing over axes that nobody named would be a surprise.
    if (most_dots_ > 0 && term.find(kDots) == term.npos) {
      throw fail_("the result has no '...', but an operand has axes for it");
    }
    for (const Label label : labels_of(term, most_dots_)) {
      if (!equation_.sizes.contains(label)) {
        throw fail_(name_of(label) + " of the result is in no operand");
      }
      if (has(equation_.result, label)) {
        throw fail_(name_of(label) + " is in the result twice");
      }
      equation_.result.push_back(label);
    }
  }

  const std::function<Error(const std::string&)>& fail_;
  Equation equation_;
  int most_dots_ = 0;
};

}  // namespace

bool has(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels those_of(const Labels& labels,
                const std::function<bool(Label)>& wanted) {
  Labels chosen;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(chosen),
               wanted);
  return chosen;
}

Equation read_equation(const std::string& text,
                       const std::vector<Shape>& operands,
                       const std::function<Error(const std::string&)>& fail) {
  return Reader(fail).read(text, operands);
}

}  // namespace weft
