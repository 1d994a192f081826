// What a model sees in place of the value of a parameter: a quantized one, a
// masked one, the product of two small factors.
//
//   view_parameters(model, {{"*.weight", "quantized(bits=4)"}});
//
// Layers compute with view(parameter), so training, evaluation, prediction and
// exported functions all do. The optimizer changes what the view is made from:
// the parameter itself or, where the view says so, parameters that stand in its
// place. What a view keeps beside it, as a mask, goes into checkpoints.
//
// A view is of the whole parameter: that of a table is computed in each step,
// and its gradient reaches all rows, not those alone that were looked up.
//
// A new view is one file in weft/nn/views.
//
// Threads: views are immutable; parameters as in module.h.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"
#include "weft/nn/module.h"

namespace weft {

// A tensor that a view of a parameter keeps: "fc1.weight.mask".
struct ViewPart {
  std::string name;  // "mask"
  TensorType type;
  nn::Role role;
};

class ParameterView {
 public:
  virtual ~ParameterView() = default;

  // Why the model cannot see a parameter of this type so, and what would do;
  // empty if it can. Dims are known, and there are elements.
  virtual std::optional<std::string> declines(const TensorType&) const {
    return std::nullopt;
  }

  // What it keeps of a parameter, in an order of its own.
  virtual std::vector<ViewPart> parts(const TensorType&) const { return {}; }
  // Whether the parts stand in place of the parameter, which then has no
  // memory.
  virtual bool replaces_parameter() const { return false; }
  // The first values of the parts, by that of the parameter. What is drawn
  // depends on the seed and on `name`, the parameter's full one.
  virtual std::vector<Tensor> first_values(const Tensor& /*parameter*/,
                                           std::uint64_t /*seed*/,
                                           std::string_view /*name*/) const {
    return {};
  }

  // What the parts become in training before the model sees the parameter;
  // empty where they stay. It follows from the arguments alone, so that workers
  // with the same parameters keep the same parts, and doing it twice is doing
  // it once.
  virtual std::vector<Value> next_parts(
      const Value& /*parameter*/, std::span<const Value> /*parts*/) const {
    return {};
  }
  // What the model sees, of the parameter's type, which is `type`; `parameter`
  // is undefined where the parts replace it.
  virtual Value value(const TensorType& type, const Value& parameter,
                      std::span<const Value> parts) const = 0;
};

// Why a model cannot see a parameter of this type through the view: what the
// view says, or what is wrong with what it makes of it, which is staged for it
// here, so that it is known before any step. Empty if it can.
std::optional<std::string> declines(const ParameterView& view,
                                    const TensorType& parameter);

struct ParameterViewDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // `options` are complete.
  std::unique_ptr<ParameterView> (*make)(const Options& options) = nullptr;
};

using ParameterViewRegistry = Registry<ParameterViewDef>;
// It is filled from the files of weft/nn/views.
const ParameterViewRegistry& parameter_view_registry();

// "quantized(bits=4)": base/call_reader.h. Throws Error(kInvalidArgument) with
// the nearest name for an unknown view or option, and for values out of range.
std::unique_ptr<ParameterView> make_view(std::string_view text);

namespace nn {

struct ViewChoice {
  std::string parameters;  // a pattern of full names: base/wildcard.h
  std::string view;        // "masked(density=0.1)"

  bool operator==(const ViewChoice&) const = default;
};

// From now on the model sees its trained parameters that fit a pattern through
// its view. Before anything was staged. A parameter that has a value already
// gives the parts their first ones, drawn by `seed`; initialize() does so too.
//
// Throws Error(kInvalidArgument) at "model.views.N", N being the index of the
// choice, and changes nothing, for a pattern that fits no trained parameter,
// for a parameter that two patterns fit or that has a view already, and for a
// view that cannot be of such a parameter, or makes something of another type
// of it.
void view_parameters(const Module& model,
                     const std::vector<ViewChoice>& choices,
                     std::uint64_t seed = 1);

// How the model sees one parameter.
struct ViewedParameter {
  std::shared_ptr<const ParameterView> view;
  std::vector<ParameterRef> parts;
  Mode is_training;  // of the module that it belongs to
};

// Sets a viewed parameter and its parts to what they are if the parameter
// begins with `value`. Throws Error(kInvalidArgument) for a view whose first
// values are not those of its parts.
void set_first_value(const Parameter& parameter, const Tensor& value,
                     std::uint64_t seed, std::string_view name);
// What the model sees. Where a function is built it is computed in the
// outermost one, once for all turns of a loop.
Value seen_value(const Parameter& parameter);

}  // namespace nn
}  // namespace weft
