#include "weft/onnx/called_functions.h"

#include <algorithm>

namespace weft::onnx {
namespace {

constexpr int kMostDepth = 64;
constexpr std::size_t kMostCalled = std::size_t{1} << 20;
constexpr std::size_t kTooMany = kMostCalled + 1;

}  // namespace

const FunctionProto* CalledFunctions::find(const NodeProto& node) const {
  for (const FunctionProto& function : model_.functions) {
    if (function.name == node.op && function.domain == node.domain) {
      return &function;
    }
  }
  return nullptr;
}

void CalledFunctions::Size::add(const Size& other) {
  nodes = std::min(nodes + other.nodes, kTooMany);
  depth = std::max(depth, other.depth);
}

void CalledFunctions::check(const FunctionProto& function) {
  const Size size = size_of(function, 0);
  if (size.nodes < kTooMany && size.depth <= kMostDepth) return;
  throw Error(ErrorCode::kUnsupported, function.name,
              "calls functions of more than {} nodes together, or that call "
              "each other more than {} deep",
              kMostCalled, kMostDepth);
}

CalledFunctions::Size CalledFunctions::size_of(const FunctionProto& function,
                                               int depth) {
  constexpr Size kEndless{.nodes = kTooMany, .depth = kMostDepth + 1};
  if (depth == kMostDepth) return kEndless;
  // A function that calls itself finds the first entry.
  const auto [entry, is_new] = sizes_.emplace(&function, kEndless);
  if (!is_new) return entry->second;
  Size size;
  for (const NodeProto& node : function.nodes) size.add(size_of(node, depth));
  ++size.depth;
  return entry->second = size;
}

CalledFunctions::Size CalledFunctions::size_of(const NodeProto& node,
                                               int depth) {
  Size size{.nodes = 1};
  if (const FunctionProto* function = find(node)) {
    size.add(size_of(*function, depth + 1));
  }
  for (const AttributeProto& attribute : node.attributes) {
    if (!attribute.graph) continue;
    for (const NodeProto& inner : attribute.graph->nodes) {
      size.add(size_of(inner, depth));
    }
  }
  return size;
}

}  // namespace weft::onnx
