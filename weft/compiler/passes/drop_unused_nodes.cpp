#include "weft/compiler/dead_nodes.h"
#include "weft/compiler/pass.h"

namespace weft {

void register_pass_drop_unused_nodes(PassRegistry& passes) {
  passes.add({
      .name = "drop_unused_nodes",
      .summary = "leaves out what no result needs",
      .order = 90,
      // Rewrites leave behind what they replace.
      .is_needed = true,
      .run =
          [](const Function& function) {
            return eliminate_dead_nodes(function);
          },
      .samples = {{R"(func @f(%0: f32[4]) -> (f32[4]) {
    %1 = exp(%0) : f32[4]
    %2 = negate(%0) : f32[4]
    return %2
  })",
                   R"(func @f(%0: f32[4]) -> (f32[4]) {
    %1 = negate(%0) : f32[4]
    return %1
  })"}},
  });
}

}  // namespace weft
