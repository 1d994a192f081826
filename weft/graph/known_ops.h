// The ops that the engine itself looks for: what passes rewrite, what control
// flow is made of, what executors treat by itself.
//
//   if (*node.op == known::cast) ...
//
// The registry is asked once for each of them, so that a comparison is one of
// addresses, and a name that no op has is an error at the first one; a
// comparison of texts would only never be true again.
//
// Threads: may be compared from any thread.
#pragma once

#include <atomic>
#include <string_view>

#include "weft/graph/registry.h"

namespace weft {

class KnownOp {
 public:
  explicit constexpr KnownOp(std::string_view name) : name_(name) {}

  // Throws Error(kInvalidArgument) if no op has the name.
  const OpDef& get() const {
    const OpDef* op = op_.load(std::memory_order_acquire);
    if (op == nullptr) {
      op = &op_registry().get(name_);
      op_.store(op, std::memory_order_release);
    }
    return *op;
  }

 private:
  std::string_view name_;
  mutable std::atomic<const OpDef*> op_ = nullptr;
};

inline bool operator==(const OpDef& op, const KnownOp& known) {
  return &op == &known.get();
}

namespace known {

inline constinit const KnownOp add("add");
inline constinit const KnownOp add_rows("add_rows");
inline constinit const KnownOp all_reduce("all_reduce");
inline constinit const KnownOp broadcast_to("broadcast_to");
inline constinit const KnownOp call("call");
inline constinit const KnownOp call_enter("call_enter");
inline constinit const KnownOp call_reenter("call_reenter");
inline constinit const KnownOp cast("cast");
inline constinit const KnownOp concat("concat");
inline constinit const KnownOp cond("cond");
inline constinit const KnownOp cond_enter("cond_enter");
inline constinit const KnownOp cond_reenter("cond_reenter");
inline constinit const KnownOp constant("constant");
inline constinit const KnownOp conv2d_weight_gradient("conv2d_weight_gradient");
inline constinit const KnownOp dynamic_update_slice("dynamic_update_slice");
inline constinit const KnownOp full("full");
inline constinit const KnownOp gather("gather");
inline constinit const KnownOp matmul("matmul");
inline constinit const KnownOp mean("mean");
inline constinit const KnownOp multiply("multiply");
inline constinit const KnownOp negate("negate");
inline constinit const KnownOp reshape("reshape");
inline constinit const KnownOp scan("scan");
inline constinit const KnownOp scatter_add("scatter_add");
inline constinit const KnownOp slice("slice");
inline constinit const KnownOp split("split");
inline constinit const KnownOp sum("sum");
inline constinit const KnownOp transpose("transpose");
inline constinit const KnownOp unslice("unslice");
inline constinit const KnownOp while_loop("while");

}  // namespace known
}  // namespace weft
