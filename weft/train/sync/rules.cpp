#include "weft/train/sync/rules.h"

#include "weft/comm/codec/pipeline_text.h"
#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/shared_model.h"

namespace weft {
namespace {

constexpr const char* kSparsifyHint = "sparsify = \"topk(0.01)\"";

// What "auto" chooses carries all that "none" does.
std::string settled_text(const SyncRecipe& recipe) {
  return recipe.codec == "auto" ? "none" : pipeline_text(recipe);
}

bool is_sparse(const SyncRecipe& recipe) {
  return Pipeline(settled_text(recipe)).is_sparse();
}

std::optional<Refusal> auto_declines(const SyncRecipe& recipe) {
  constexpr const char* kBecause = "it chooses how gradients travel";
  constexpr const char* kInstead = "leave that out, or name a codec";
  if (recipe.sparsify != "none") {
    return Refusal{"sparsify " + in_quotes(recipe.sparsify), kBecause,
                   kInstead};
  }
  if (!is_auto(collective_of(recipe))) {
    return Refusal{"collective " + in_quotes(recipe.collective), kBecause,
                   kInstead};
  }
  // Codecs are compared by what an exchange takes with each (auto_codec.h).
  if (policy_of(recipe).def->seconds == nullptr) {
    return Refusal{"policy " + in_quotes(recipe.policy),
                   "what an exchange by it takes is not known", "name a codec"};
  }
  return std::nullopt;
}

std::optional<Refusal> codec_declines(const SyncRecipe& recipe,
                                      const Optimizer&) {
  if (recipe.codec == "auto") return auto_declines(recipe);
  // It throws where its stages decline each other.
  const Pipeline pipeline(pipeline_text(recipe));
  const auto refusal = pipeline.declines_feedback();
  // Without a memory there is no feedback that could be declined.
  if (!refusal || !pipeline.needs_feedback() || recipe.memory == "none") {
    return std::nullopt;
  }
  return Refusal{
      "memory " + in_quotes(recipe.memory),
      "what is left out is added to the next step's gradient, and "
      "would grow from step to step: " +
          refusal->because,
      refusal->instead + "; memory = \"none\" loses what is left out"};
}

std::optional<Refusal> momentum_declines(const SyncRecipe& recipe,
                                         const Optimizer& optimizer) {
  if (recipe.momentum_correction == 0) return std::nullopt;
  if (recipe.memory == "none") {
    return Refusal{"memory 'none'", "it needs a memory of what was not sent",
                   "leave sync.memory out"};
  }
  if (!is_sparse(recipe)) {
    return Refusal{"dense gradients", "it is momentum of sparsified ones",
                   kSparsifyHint};
  }
  if (!optimizer.has_momentum()) return std::nullopt;
  // Momentum before the selection and after it would be applied twice.
  return Refusal{"this optimizer", "it has momentum of its own",
                 "optimizer.name = \"sgd\", or leave momentum_correction out"};
}

std::optional<Refusal> warmup_declines(const SyncRecipe& recipe,
                                       const Optimizer&) {
  if (recipe.warmup_epochs == 0) return std::nullopt;
  // Warm-up is a row of larger ratios (compressor.h), so that a threshold has
  // nothing to vary.
  const PipelineText text = parse_pipeline(settled_text(recipe));
  if (!text.sparsifier || !text.sparsifier->options.contains("ratio")) {
    return Refusal{text.sparsifier ? in_quotes(text.sparsifier->def->name)
                                   : "dense gradients",
                   "it needs a sparsifier with a ratio", kSparsifyHint};
  }
  const auto count = text.sparsifier->options.find("count");
  if (count == text.sparsifier->options.end() ||
      std::get<std::int64_t>(count->second) == 0) {
    return std::nullopt;
  }
  return Refusal{in_quotes(text.sparsifier->def->name) + " with a count",
                 "that is sent whatever the ratio is", kSparsifyHint};
}

std::optional<Refusal> measure_declines(const SyncRecipe& recipe,
                                        const Optimizer&) {
  if (recipe.measure_every == 0) return std::nullopt;
  constexpr const char* kBecause =
      "it measures memories of sparsified gradients, whose sum all workers get";
  if (!is_sparse(recipe)) {
    return Refusal{"dense gradients", kBecause, kSparsifyHint};
  }
  if (recipe.memory == "none") {
    return Refusal{"memory 'none'", kBecause, "leave sync.memory out"};
  }
  if (!policy_of(recipe).def->leaves_sums) {
    return Refusal{"policy " + in_quotes(recipe.policy), kBecause,
                   "policy = \"allreduce\""};
  }
  return std::nullopt;
}

std::optional<Refusal> rule_declines(const SyncRecipe& recipe,
                                     const Optimizer&) {
  const auto& policy = *policy_of(recipe).def;
  const auto rule = rule_of(recipe);
  // A collective says for itself whether it can.
  if (is_mean(recipe) || policy.takes_rules || policy.uses_collective) {
    return rule.def->declines == nullptr
               ? std::nullopt
               : rule.def->declines(rule.options, recipe);
  }
  return Refusal{"policy " + in_quotes(recipe.policy),
                 "that does not have each contribution by itself",
                 "policy = \"server\", or leave rule out"};
}

// The policies that can do something, for messages.
std::string policies_with(bool SyncPolicyDef::*can) {
  std::string list;
  for (const SyncPolicyDef& def : sync_policy_registry().all()) {
    if (!(def.*can)) continue;
    list += (list.empty() ? "" : ", ") + in_quotes(def.name);
  }
  return list;
}

std::optional<Refusal> servers_decline(const SyncRecipe& recipe,
                                       const Optimizer&) {
  if (recipe.servers == 0 || policy_of(recipe).def->has_servers) {
    return std::nullopt;
  }
  return Refusal{"policy " + in_quotes(recipe.policy),
                 "that has no servers, and these ranks would do nothing",
                 "policy: one of " +
                     policies_with(&SyncPolicyDef::has_servers) +
                     "; or leave servers out"};
}

std::optional<Refusal> credit_declines(const SyncRecipe& recipe,
                                       const Optimizer&) {
  if (recipe.credit == 0) return std::nullopt;
  const SyncPolicyDef& policy = *policy_of(recipe).def;
  if (policy.takes_credit) {
    // A server holds back messages, and a collective whole buckets.
    if (!policy.uses_collective || !looks_at_whole_gradients(recipe)) {
      return std::nullopt;
    }
    return Refusal{"rule " + in_quotes(recipe.rule),
                   "it waits until all buckets are measured, and some of them "
                   "would be held back until others are over",
                   "policy = \"server\", or credit = 0"};
  }
  return Refusal{"policy " + in_quotes(recipe.policy),
                 "its workers wait for each other's messages, and one that is "
                 "held back could hold up all",
                 "policy: one of " +
                     policies_with(&SyncPolicyDef::takes_credit) +
                     "; or leave credit out"};
}

std::optional<Refusal> slices_decline(const SyncRecipe& recipe,
                                      const Optimizer& optimizer) {
  if (!recipe.slices) return std::nullopt;
  if (optimizer.looks_at_names()) {
    return Refusal{"groups of parameters",
                   "they are picked by name, and slices have other names",
                   "leave one of them out"};
  }
  if (optimizer.is_elementwise()) return std::nullopt;
  return Refusal{"this optimizer",
                 "what an element becomes depends on others of its tensor, and "
                 "a slice has not all of them",
                 "optimizer.name = \"adam\", or leave slices out"};
}

std::optional<Refusal> forward_declines(const SyncRecipe& recipe,
                                        const Optimizer& optimizer) {
  if (!recipe.overlap_forward) return std::nullopt;
  const SyncPolicyDef& policy = *policy_of(recipe).def;
  if (!policy.applies_each) {
    return Refusal{"policy " + in_quotes(recipe.policy),
                   "it changes all parameters together, when everything has "
                   "come",
                   "policy = \"server\" or \"allreduce\""};
  }
  if (recipe.measure_every > 0) {
    return Refusal{"measure_every",
                   "what is measured is a whole step, and steps overlap",
                   "leave one of them out"};
  }
  if (!optimizer.sees_all_parameters() && optimizer.shared_slots().empty()) {
    return std::nullopt;
  }
  return Refusal{"this optimizer",
                 "it looks at all gradients together, and must wait for the "
                 "last of them",
                 "optimizer.name = \"adam\", or leave overlap_forward out"};
}

std::optional<Refusal> use_declines(const SyncRecipe& recipe,
                                    const Optimizer&) {
  if (policy_of(recipe).def->uses_collective) {
    return collective_declines(recipe);
  }
  // "auto" is the default, so nobody asked for it.
  if (is_auto(collective_of(recipe))) return std::nullopt;
  return Refusal{"policy " + in_quotes(recipe.policy),
                 "that uses no collective, and this would have no effect",
                 "leave sync.collective out, or policy = \"allreduce\""};
}

std::optional<Refusal> policy_declines(const SyncRecipe& recipe,
                                       const Optimizer& optimizer) {
  const Call<SyncPolicyDef> policy = policy_of(recipe);
  if (policy.def->shares_model) {
    if (auto refusal = shared_model_declines(optimizer)) return refusal;
  }
  return policy.def->declines == nullptr
             ? std::nullopt
             : policy.def->declines(policy.options, recipe);
}

}  // namespace

void SyncRule::check(const SyncRecipe& recipe,
                     const Optimizer& optimizer) const {
  if (const auto refusal = declines(recipe, optimizer)) {
    throw refused("sync." + key, value(recipe), *refusal);
  }
}

const std::vector<SyncRule>& sync_rules() {
  using R = const SyncRecipe&;
  static const std::vector<SyncRule> rules{
      // The codec comes first, as the others make its pipeline.
      {"codec", [](R recipe) { return in_quotes(recipe.codec); },
       codec_declines},
      {"momentum_correction",
       [](R recipe) { return fmt::format("{}", recipe.momentum_correction); },
       momentum_declines},
      {"warmup_epochs",
       [](R recipe) { return fmt::format("{}", recipe.warmup_epochs); },
       warmup_declines},
      {"measure_every",
       [](R recipe) { return fmt::format("{}", recipe.measure_every); },
       measure_declines},
      {"rule", [](R recipe) { return in_quotes(recipe.rule); }, rule_declines},
      {"collective", [](R recipe) { return in_quotes(recipe.collective); },
       use_declines},
      {"policy", [](R recipe) { return in_quotes(recipe.policy); },
       policy_declines},
      {"servers", [](R recipe) { return fmt::format("{}", recipe.servers); },
       servers_decline},
      {"credit", [](R recipe) { return fmt::format("{}", recipe.credit); },
       credit_declines},
      {"slices", [](R) { return std::string("true"); }, slices_decline},
      {"overlap_forward", [](R) { return std::string("true"); },
       forward_declines}};
  return rules;
}

void check_sync(const SyncRecipe& recipe, const Optimizer& optimizer) {
  for (const SyncRule& rule : sync_rules()) rule.check(recipe, optimizer);
}

}  // namespace weft
