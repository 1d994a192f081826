// What the equation of an einsum says about the axes of its operands.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weft/tensor/shape.h"

namespace weft {

// A letter; or -1, -2, … for the axes of "...", from the last on.
using Label = int;
using Labels = std::vector<Label>;

bool has(const Labels& labels, Label label);
// Those of `labels` for which `wanted` is true, in their order.
Labels those_of(const Labels& labels, const std::function<bool(Label)>& wanted);

struct Equation {
  std::vector<Labels> operands;  // the label of each axis
  Labels result;
  std::map<Label, Dim> sizes;  // 1 only if it is so in all operands
};

// Throws what `fail` makes of what is wrong, which names the label.
Equation read_equation(const std::string& text,
                       const std::vector<Shape>& operands,
                       const std::function<Error(const std::string&)>& fail);

}  // namespace weft
