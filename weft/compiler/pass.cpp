#include "weft/compiler/pass.h"

#include <algorithm>

#include "weft/compiler/rule.h"
#include "weft/graph/inlining.h"

namespace weft {
namespace {

bool is_left_out(const std::string& name, bool keeps_bits,
                 const PassOptions& options) {
  if (!keeps_bits && !options.may_round) return true;
  return std::ranges::find(options.without, name) != options.without.end();
}

// What takes a whole function: a pass, or a rule wherever it fits.
struct WholeStep {
  int order;
  const PassDef* pass = nullptr;
  const RuleDef* rule = nullptr;
};

std::vector<WholeStep> whole_steps(const std::vector<const PassDef*>& passes,
                                   const PassOptions& options) {
  std::vector<WholeStep> steps;
  for (const PassDef* pass : passes) {
    if (pass->run != nullptr) steps.push_back({pass->order, pass});
  }
  for (const RuleDef& rule : rule_registry().all()) {
    if (rule.use != RuleUse::kAlways) continue;
    if (is_left_out(rule.name, rule.keeps_bits, options)) continue;
    steps.push_back({rule.order, nullptr, &rule});
  }
  std::ranges::sort(steps, {}, &WholeStep::order);
  return steps;
}

}  // namespace

void check(const PassOptions& options) {
  for (const std::string& name : options.without) {
    if (rule_registry().find(name) != nullptr) continue;
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
    if (!is_left_out(pass.name, pass.keeps_bits, options)) {
      passes.push_back(&pass);
    }
  }
  std::ranges::sort(passes, {}, &PassDef::order);
  std::vector<const PassDef*> rewrites;
  std::ranges::copy_if(passes, std::back_inserter(rewrites),
                       [](auto* pass) { return pass->rewrite != nullptr; });
  Rewriter rewriter(function.name(), std::move(rewrites));
  Function result = rewriter.build([&] { return rebuild(rewriter, function); });
  for (const WholeStep& step : whole_steps(passes, options)) {
    result = step.pass != nullptr
                 ? step.pass->run(result)
                 : apply_everywhere(std::move(result), *step.rule);
  }
  return result;
}

}  // namespace weft
