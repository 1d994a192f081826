// All ops, by name. Filled once from the files of weft/ops, then frozen.
//
// Threads: immutable after freeze(); op_registry() is safe to call anywhere.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>

#include "weft/graph/op.h"

namespace weft {

class OpRegistry {
 public:
  OpRegistry();
  OpRegistry(OpRegistry&& other) noexcept;
  ~OpRegistry();

  // The entry to fill in. A name is registered once.
  OpDef& add(std::string name);
  // Nothing may be added afterwards. Asserts that names differ and every op has
  // inference.
  void freeze();

  // Null if there is none.
  const OpDef* find(std::string_view name) const;
  // Throws Error(kInvalidArgument) with the nearest known name.
  const OpDef& get(std::string_view name) const;
  // All ops, in the order of registration.
  const std::deque<OpDef>& all() const { return ops_; }

 private:
  std::deque<OpDef> ops_;  // addresses must stay
  std::unordered_map<std::string_view, const OpDef*> by_name_;
};

// weft/ops supplies it.
const OpRegistry& op_registry();

}  // namespace weft
