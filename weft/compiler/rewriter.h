// Builds a function anew, asking passes about each application of an op
// (compiler/pass.h).
//
// Threads: caller synchronises.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/graph/builder.h"
#include "weft/graph/kernel.h"

namespace weft {

struct PassDef;

// An op about to be applied. Operands are values of the rewriter, rewritten
// already.
struct OpApplication {
  const OpDef& op;
  std::vector<Value> operands;
  Attributes attributes;  // complete
  const std::vector<TensorType> outputs;
  const Location& location;

  std::vector<TensorType> operand_types() const;
};

class Rewriter final : public FunctionBuilder {
 public:
  // `rewrites` are asked in this order, and must outlive the rewriter.
  Rewriter(std::string name, std::vector<const PassDef*> rewrites);

  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override;

  // --- For passes -----------------------------------------------------------
  // The node that makes a value, or null for a parameter.
  const Node* node_of(const Value& value) const;
  // The results of a node with the same op, operands and attributes, or none.
  std::vector<Value> equal_to(const OpApplication& application);

 private:
  const std::vector<const PassDef*>& rewrites_for(const OpDef& op);
  std::vector<Value> emit(const OpApplication& application);

  std::vector<const PassDef*> rewrites_;
  // Those that are asked for an op: names are compared once for each.
  std::unordered_map<const OpDef*, std::vector<const PassDef*>> by_op_;
  std::unordered_multimap<std::size_t, NodeId> known_;  // by hash
};

// The first kernel that takes the application, or null.
const KernelCandidate* kernel_for(const OpApplication& application);

}  // namespace weft
