#include "weft/compiler/pass.h"

#include <algorithm>

#include "weft/graph/inlining.h"

namespace weft {
namespace {

bool is_left_out(const PassDef& pass, const PassOptions& options) {
  if (!pass.keeps_bits && !options.may_round) return true;
  return std::find(options.without.begin(), options.without.end(), pass.name) !=
         options.without.end();
}

}  // namespace

void check(const PassOptions& options) {
  for (const std::string& name : options.without) {
    if (!pass_registry().get(name).is_needed) continue;
    throw Error(ErrorCode::kInvalidArgument, name,
                "some functions cannot be planned without this pass")
        .hint("`weft passes` says which can be left out");
  }
}

Function run_passes(const Function& function, const PassOptions& options) {
  check(options);
  std::vector<const PassDef*> passes;
  for (const PassDef& pass : pass_registry().all()) {
    if (!is_left_out(pass, options)) passes.push_back(&pass);
  }
  std::sort(
      passes.begin(), passes.end(),
      [](const PassDef* a, const PassDef* b) { return a->order < b->order; });
  std::vector<const PassDef*> rewrites;
  std::copy_if(passes.begin(), passes.end(), std::back_inserter(rewrites),
               [](const PassDef* pass) { return pass->rewrite != nullptr; });
  Rewriter rewriter(function.name(), std::move(rewrites));
  Function result = rewriter.build([&] { return rebuild(rewriter, function); });
  for (const PassDef* pass : passes) {
    if (pass->run != nullptr) result = pass->run(result);
  }
  return result;
}

}  // namespace weft
