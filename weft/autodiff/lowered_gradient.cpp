// The gradient of an op by way of what it lowers to: the plain ops run in the
// current context while a recorder listens, and reverse mode walks them back.
#include "weft/autodiff/reverse.h"
#include "weft/graph/context.h"
#include "weft/graph/gradient.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

Value numbered(const Value& value) {
  return value.id() >= 0 ? value : Value(value.tensor(), Value::fresh_id());
}

class Recorder : public Context {
 public:
  explicit Recorder(Context& outer) : outer_(outer) {}

  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override {
    Application application{&op, op.complete(attributes), {}, {}};
    for (const Value* input : inputs) application.inputs.push_back(*input);
    // The outer context computes, or records nodes; an eager result without a
    // tape has no number, by which reverse mode could know it.
    for (const Value& output : outer_.apply(op, inputs, attributes, location)) {
      application.outputs.push_back(numbered(output));
    }
    applications_.push_back(application);
    return std::move(application.outputs);
  }

  FunctionBuilder* builder() override { return outer_.builder(); }

  void create(const VariableRef& variable) override { outer_.create(variable); }
  Value read(const VariableRef& variable) override {
    return outer_.read(variable);
  }
  void assign(const VariableRef& variable, const Value& value) override {
    outer_.assign(variable, value);
  }

  const std::vector<Application>& applications() const { return applications_; }

 private:
  Context& outer_;
  std::vector<Application> applications_;
};

// One value per operand, each with an id of its own: a value that is passed
// twice must not collect the gradient of both places.
std::vector<Value> told_apart(const GradientContext& g) {
  std::vector<Value> operands;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    Value operand = numbered(g.x(i));
    for (const Value& earlier : operands) {
      if (earlier.id() != operand.id()) continue;
      // A view costs nothing, and a staged one is a value of its own.
      operand = numbered(reshape(operand, operand.shape()));
      break;
    }
    operands.push_back(operand);
  }
  return operands;
}

}  // namespace

Gradients lowered_gradient(const GradientContext& g) {
  const std::vector<Value> operands = told_apart(g);
  Recorder recorder(current_context());
  std::vector<Value> outputs;
  {
    ContextScope scope(recorder);
    outputs = g.op().lower()(g.attributes(), operands);
  }
  std::vector<Value> roots;
  std::vector<Value> seeds;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    // A result that no gradient arrived at is no root.
    if (!g.dy(i).is_defined()) continue;
    roots.push_back(outputs[i]);
    seeds.push_back(g.dy(i));
  }
  return reverse(recorder.applications(), roots, seeds, operands);
}

}  // namespace weft
