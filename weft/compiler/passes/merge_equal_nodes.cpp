#include "weft/compiler/pass.h"

namespace weft {
namespace {

// Value numbering: operands were merged before what reads them, so that equal
// computations have equal operands.
std::optional<std::vector<Value>> merge_equal(Rewriter& rewriter,
                                              OpApplication& application) {
  std::vector<Value> results = rewriter.equal_to(application);
  if (results.empty()) return std::nullopt;
  return results;
}

}  // namespace

void register_pass_merge_equal_nodes(PassRegistry& passes) {
  passes.add({
      .name = "merge_equal_nodes",
      .summary = "computes what is the same once",
      .order = 80,
      .rewrite = merge_equal,
      .samples = {{R"(func @f(%0: f32[4], %1: f32[4]) -> (f32[4]) {
    %2 = multiply(%0, %1) : f32[4]
    %3 = multiply(%0, %1) : f32[4]
    %4 = subtract(%2, %3) : f32[4]
    return %4
  })",
                   R"(func @f(%0: f32[4], %1: f32[4]) -> (f32[4]) {
    %2 = multiply(%0, %1) : f32[4]
    %3 = subtract(%2, %2) : f32[4]
    return %3
  })"}},
  });
}

}  // namespace weft
