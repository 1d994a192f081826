#include "weft/compiler/batch_norm_form.h"

#include <algorithm>
#include <array>

#include "weft/base/error.h"
#include "weft/compiler/pass.h"
#include "weft/graph/inlining.h"
#include "weft/ops/after.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/norm.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// What is done with a concatenation's parts, forward and backward.
constexpr std::array<std::string_view, 3> kPartsPasses = {
    "moments_of_parts", "nest_concats", "sum_before_slices"};

// The mean in one pass, and the mean of squares about it in another.
std::optional<std::vector<Value>> two_passes(Rewriter& rewriter,
                                             OpApplication& application) {
  const ContextScope scope(rewriter);
  const std::vector<Value>& operands = application.operands;
  const Value x = to_dtype(operands[0], operands[1].dtype());
  Integers rows;
  for (int axis = 0; axis + 1 < x.shape().rank(); ++axis) rows.push_back(axis);
  const Value centre = mean(x, rows);
  const Value variance = mean(square(x - centre), rows);
  return std::vector{
      batch_norm_infer(operands[0], operands[1], operands[2], centre, variance,
                       application.attributes.real("epsilon")),
      centre, variance};
}

// Loops end at a view: what is normalised is in memory before a ReLU reads it,
// and so is the gradient behind the ReLU before that of batch norm.
std::optional<std::vector<Value>> apart(Rewriter& rewriter,
                                        OpApplication& application) {
  std::vector<Value> results = *two_passes(rewriter, application);
  const ContextScope scope(rewriter);
  results[0] = after(results[0], {&results[1], 1});
  return results;
}

std::optional<std::vector<Value>> gradient_apart(Rewriter& rewriter,
                                                 OpApplication& application) {
  Value& dy = application.operands.back();
  const ContextScope scope(rewriter);
  dy = after(dy, {&application.operands[1], 1});
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& batch_norm_form_names() {
  static const std::vector<std::string> names = {"auto", "none", "rcf",
                                                 "mvf",  "bnff", "icf"};
  return names;
}

std::string_view to_string(BatchNormForm form) {
  return batch_norm_form_names()[static_cast<std::size_t>(form)];
}

BatchNormForm batch_norm_form(std::string_view name) {
  const std::vector<std::string>& names = batch_norm_form_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    Error error(ErrorCode::kInvalidArgument, "batch_norm",
                "'{}' is no form of batch norm", name);
    error.hint("auto, none, rcf, mvf, bnff or icf");
    throw error;
  }
  return static_cast<BatchNormForm>(found - names.begin());
}

Function in_form(const Function& function, BatchNormForm form) {
  if (form != BatchNormForm::kNone && form != BatchNormForm::kRcf) {
    return function;
  }
  static const PassDef kTwoPasses{.name = "two_passes",
                                  .summary = "a pass for each statistic",
                                  .ops = {"batch_norm"},
                                  .rewrite = two_passes};
  static const PassDef kApart{.name = "apart",
                              .summary = "and one for a ReLU behind it",
                              .ops = {"batch_norm"},
                              .rewrite = apart};
  static const PassDef kGradientApart{.name = "gradient_apart",
                                      .summary = "the same backward",
                                      .ops = {"batch_norm_gradient"},
                                      .rewrite = gradient_apart};
  Rewriter rewriter(function.name(),
                    form == BatchNormForm::kRcf
                        ? std::vector{&kTwoPasses}
                        : std::vector{&kApart, &kGradientApart});
  return rewriter.build([&] { return rebuild(rewriter, function); });
}

std::vector<std::string> passes_without(std::vector<std::string> without,
                                        BatchNormForm form) {
  if (form != BatchNormForm::kAuto && form != BatchNormForm::kIcf) {
    without.insert(without.end(), kPartsPasses.begin(), kPartsPasses.end());
  }
  return without;
}

}  // namespace weft
