// Writes a function over many instances: the values of its instance form, each
// stacked over the instances or summed over them.
//
// Threads: that of the builder.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "weft/batching/instance_form.h"
#include "weft/graph/builder.h"

namespace weft {

// Emits values on demand, each at most once.
class Instances {
 public:
  // What an op that runs functions becomes: its results, stacked where they
  // differ, and something for an activation.
  using ControlRule =
      std::function<std::vector<Value>(Instances& instances, const Node& node)>;

  // `form` outlives this. `builder` records nodes as the rules call them.
  // Without `control`, such ops are errors as others without a rule are.
  // `mask`, a bool[B], tells which instances' results somebody looks at; all
  // if it is undefined.
  Instances(const InstanceForm& form, FunctionBuilder& builder, Dim size,
            ControlRule control = nullptr, Value mask = {})
      : form_(form),
        function_(form.function),
        builder_(builder),
        size_(size),
        control_(std::move(control)),
        mask_(std::move(mask)),
        // Values are numbered without gaps, so lists hold what stands for each.
        stacked_(function_.value_count()),
        summed_(function_.value_count()) {}

  void set_parameter(ValueId id, const Value& value) {
    at(stacked_, id) = value;
  }
  bool depends(ValueId id) const { return form_.depends(id); }

  // The value has the batch axis if the instances differ in it.
  const Value& stacked(ValueId id);
  const Value& summed(ValueId id);

 private:
  class Application;

  static Value& at(std::vector<Value>& values, ValueId id) {
    return values[static_cast<std::size_t>(id)];
  }
  void emit_up_to(NodeId last);
  void emit(const Node& node);
  std::vector<Value> apply_rule(const Node& node);
  bool fold_sum(ValueId id);

  const InstanceForm& form_;
  const Function& function_;
  FunctionBuilder& builder_;
  Dim size_;
  ControlRule control_;
  Value mask_;
  std::vector<Value> stacked_;
  std::vector<Value> summed_;
  int depth_ = 0;  // how deep summed() is
};

}  // namespace weft
