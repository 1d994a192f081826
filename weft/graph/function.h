// The intermediate representation: a pure function as a list of nodes in
// static single assignment form. Nodes stand in an order in which they can
// run; values are named by index.
//
// State (parameters, optimizer slots, random keys) goes in as parameters and
// comes out as results; the runtime donates the buffers.
//
// Threads: caller synchronises; share freely once built.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/graph/location.h"
#include "weft/graph/op.h"

namespace weft {

using ValueId = std::int32_t;
using NodeId = std::int32_t;

struct Node {
  const OpDef* op;
  Attributes attributes;  // complete: every attribute of the schema
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Location location;
};

struct ValueInfo {
  TensorType type;
  NodeId node = -1;  // who computes it; -1 for a parameter
  std::string name;  // a parameter's; may be empty

  bool operator==(const ValueInfo&) const = default;
};

class Function {
 public:
  explicit Function(std::string name = "main");
  // These copy and destroy all nodes, which is too much to be inline.
  Function(const Function& other);
  Function(Function&& other) noexcept;
  Function& operator=(const Function& other);
  Function& operator=(Function&& other) noexcept;
  ~Function();

  const std::string& name() const { return name_; }
  const std::vector<ValueId>& parameters() const { return parameters_; }
  const std::vector<ValueId>& results() const { return results_; }
  // Nodes and values stay where they are while others are added: a reference
  // to a type is good as long as its function.
  const std::deque<Node>& nodes() const { return nodes_; }
  std::size_t value_count() const { return values_.size(); }
  const Node& node(NodeId id) const {
    return nodes_[static_cast<std::size_t>(id)];
  }
  const ValueInfo& value(ValueId id) const {
    return values_[static_cast<std::size_t>(id)];
  }
  const TensorType& type(ValueId id) const { return value(id).type; }
  bool is_parameter(ValueId id) const { return value(id).node < 0; }

  // Throws Error(kInvalidArgument) for a type larger than any memory.
  ValueId add_parameter(const TensorType& type, std::string name);
  // Infers the outputs' types. Throws Error(kInvalidArgument) as the op does,
  // with the location added.
  const Node& add_node(const OpDef& op, std::vector<ValueId> inputs,
                       const Attributes& attributes, const Location& location);
  // Makes a node another op on the same operands. Its results stay, and must
  // keep their types; what the op returns beyond them is added. Throws
  // Error(kInvalidArgument) as the op does.
  const Node& replace_node(NodeId id, const OpDef& op,
                           const Attributes& attributes);
  void set_results(std::vector<ValueId> results);

  // Whether they are the same but for the locations of nodes. Takes time in
  // proportion to their size.
  bool equals(const Function& other) const;

  // The inferred types of a node's operands and results, for an OpCall.
  std::vector<TensorType> input_types(const Node& node) const;
  std::vector<TensorType> output_types(const Node& node) const;

 private:
  std::string name_;
  std::deque<ValueInfo> values_;
  std::deque<Node> nodes_;
  std::vector<ValueId> parameters_;
  std::vector<ValueId> results_;
};

// Functions that belong together, by unique name.
struct Graph {
  std::vector<Function> functions;

  const Function* find(std::string_view name) const;
};

// A reference to `function`, with its signature.
FunctionRef reference_to(const Function& function);

// The functions of a graph, to look references up.
class FunctionIndex {
 public:
  explicit FunctionIndex(const Graph& graph);

  // What is wrong with a reference: there is no such function, or its
  // signature is another.
  std::optional<std::string> problem_with(const FunctionRef& reference) const;

 private:
  std::unordered_map<std::string, FunctionRef> functions_;
};

// Checks what every pass must keep: operands are defined before use, types
// are what inference says, attributes fit the schema, parameter names are
// unique; in a graph, that references are to functions of it, as they are.
// Throws Error(kInternal) that prints the offending node.
void verify(const Function& function);
void verify(const Graph& graph);

// Parameters, nodes and results under other dims. Calls stay as they are: the
// symbols of a callee are its own.
Function specialize(const Function& function, const class Bindings& bindings);

}  // namespace weft
