// Builds a Function by running code that computes with Values.
//
//   FunctionBuilder builder("double");
//   const Value x = builder.parameter({DType::kF32, {symbol("N")}}, "x");
//   Function f = builder.build([&] { return std::vector{x + x}; });
//
// A builder may stand inside another: the body of a branch or of a loop. It
// may then use values of the functions around it: they become hidden
// parameters after its own, the captures.
//
// Threads: one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/graph/context.h"

namespace weft {

class Program;

class FunctionBuilder : public Context {
 public:
  // With `lower_composites`, an op that has a lowering but no gradient rule is
  // recorded as the ops it lowers to, so that the function can be
  // differentiated. Without, nodes are recorded as they were called.
  explicit FunctionBuilder(std::string name, bool lower_composites = true)
      : function_(std::move(name)), lower_composites_(lower_composites) {}
  // A function that may refer to others of `program`, which must outlive it.
  FunctionBuilder(Program& program, std::string name)
      : function_(std::move(name)), program_(&program) {}
  // A function inside `enclosing`, which must outlive it, and of its program.
  FunctionBuilder(FunctionBuilder& enclosing, std::string name)
      : function_(std::move(name)),
        lower_composites_(enclosing.lower_composites_),
        program_(enclosing.program_),
        enclosing_(&enclosing) {}
  ~FunctionBuilder() override { close(); }
  FunctionBuilder(const FunctionBuilder&) = delete;
  FunctionBuilder& operator=(const FunctionBuilder&) = delete;

  // Own parameters come before captures.
  Value parameter(const TensorType& type, std::string name = "");
  // A value of this function that holds the given bytes.
  Value constant(const Tensor& tensor);

  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override;

  // Variables that are bound here are what they were bound or assigned to.
  // Others have the value that they have around this function, and cannot be
  // assigned: Error(kInvalidArgument).
  void create(const VariableRef& variable) override;
  Value read(const VariableRef& variable) override;
  void assign(const VariableRef& variable, const Value& value) override;
  void bind(const VariableRef& variable, const Value& value);

  // Who builds this function depends on it too.
  void depend_on(const ModeReading& reading) override;
  void depend_on_layer() override;

  // Copies the nodes of `function` into this one, lowering as above. Returns a
  // Value for each of its values, by ValueId; its parameters become
  // `arguments`.
  std::vector<Value> inline_function(const Function& function,
                                     std::span<const Value> arguments);

  // Function::replace_node() of the function being built: what uses the node's
  // results keeps them. Returns the results that the new op adds.
  std::vector<Value> replace(NodeId node, const OpDef& op,
                             const Attributes& attributes);

  // Runs `body` with this builder as the current context; what it returns
  // become the results.
  Function build(const std::function<std::vector<Value>()>& body);

  const Function& function() const { return function_; }
  FunctionBuilder* builder() override { return this; }
  // The one around this one, or null.
  FunctionBuilder* enclosing() const { return enclosing_; }
  // Where control flow puts the functions it makes. Throws
  // Error(kInvalidArgument) for a function that stands alone.
  Program& program() const;

  // The id of a value in this function. Throws Error(kInvalidArgument) for a
  // value that is none of this function's nor adopted.
  ValueId id_of(const Value& value);
  // What this function's values hold on to.
  const std::shared_ptr<BuilderLink>& link() const { return link_; }
  // The enclosing builder's values that the parameters after the first
  // parameters().size() - captures().size() stand for, in that order.
  const std::vector<Value>& captures() const { return captures_; }

 protected:
  // Makes a value that is not of this function one of its own: a concrete one
  // becomes a constant, one of a function around it a capture. Inside another
  // function, tensors that are no scalars are captured from there.
  virtual ValueId adopt(const Value& value);
  void set_lower_composites(bool on) { lower_composites_ = on; }

 private:
  std::vector<Value> lower(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location);
  void close();

  Function function_;
  std::shared_ptr<BuilderLink> link_ =
      std::make_shared<BuilderLink>(BuilderLink{this, function_.name()});
  std::unordered_map<VariableRef, Value> variables_;
  bool lower_composites_ = true;
  Program* program_ = nullptr;
  FunctionBuilder* enclosing_ = nullptr;
  Context* outer_ = nullptr;  // where build() was called, while it runs
  std::vector<Value> captures_;
};

}  // namespace weft
