#include "weft/comm/collective/all_reduce.h"
#include "weft/train/recipe/entries.h"
#include "weft/train/recipe/fields.h"
#include "weft/train/recipe/older_text.h"
#include "weft/train/recipe/section_def.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/network.h"
#include "weft/train/sync/policy.h"

namespace weft {
namespace {

// The network's size decides what they may say: all_reduce.h reads them.
constexpr CallKind kCollectives{
    .entries = [] { return entries_of(all_reduce_registry()); }};

const Fields<SyncRecipe>& sync_fields() {
  using R = SyncRecipe;
  static const Fields<R> fields{
      field<&R::policy>("policy", "what workers exchange, and who applies it"),
      field<&R::sparsify>("sparsify",
                          "which gradients are sent: \"topk(0.01)\", …"),
      field<&R::codec>("codec",
                       "how they are encoded: \"value:qsgd(7)\", \"3lc\", …, "
                       "or \"auto\""),
      field<&R::collective>(
          "collective",
          "how they are summed: \"ring\", \"blueconnect([4, 8])\", …",
          {.calls = &kCollectives}),
      field<&R::topology>("topology",
                          "of the network: measured, written out, or a file"),
      field<&R::bucket_bytes>(
          "bucket_bytes", "of gradients that travel together",
          {.range = {.least = 4, .most = kMostCount}, .unit = "bytes"}),
      field<&R::overlap>("overlap", "send gradients while others are computed"),
      field<&R::momentum_correction>(
          "momentum_correction",
          "the optimizer's momentum, applied before entries are picked",
          {.range = {.least = 0, .most = 1, .is_open_above = true}}),
      field<&R::memory>("memory", "what is kept of what was not sent",
                        {.choices = {"gradients", "updates", "none"}}),
      field<&R::warmup_epochs>(
          "warmup_epochs", "in which more is sent than in the end",
          {.range = {.least = 0, .most = kMostCount}, .unit = "epochs"}),
      field<&R::min_elements>(
          "min_elements",
          "smaller tensors are sent as they are; the "
          "default is what the codec needs",
          {.range = {.least = 0, .most = kMostCount}, .unit = "elements"}),
      field<&R::measure_every>(
          "measure_every", "between measurements of xi and drift; 0: none",
          {.range = {.least = 0, .most = kMostCount}, .unit = "steps"}),
      field<&R::timeout>("timeout", "of silence that are an error",
                         {.range = kPositive, .unit = "seconds"})};
  return fields;
}

// Momentum before the selection and after it would be applied twice.
void refuse_momentum_twice(const SyncRecipe& sync,
                           const OptimizerRecipe& optimizer) {
  if (sync.momentum_correction == 0) return;
  if (!make_optimizer(optimizer)->has_momentum()) return;
  throw Error(ErrorCode::kInvalidArgument, "sync",
              "momentum_correction is momentum before entries are picked, and "
              "optimizer '{}' has momentum of its own",
              optimizer.name)
      .hint("optimizer.name = \"sgd\", or leave momentum_correction out");
}

void refuse_partial_view(const SyncPolicyDef& policy,
                         const OptimizerRecipe& optimizer) {
  if (policy.updates_whole_model ||
      !make_optimizer(optimizer)->sees_all_parameters()) {
    return;
  }
  throw Error(ErrorCode::kInvalidArgument, "sync",
              "optimizer '{}' looks at all gradients together, and with policy "
              "'{}' each worker updates a part of the model",
              optimizer.name, policy.name)
      .hint("sync.policy = \"allreduce\"");
}

void read_sync(SectionReader& section, Recipe& recipe) {
  SyncRecipe& sync = recipe.sync;
  read_fields(section, sync_fields(), sync);
  section.refuse_unknown();
  sync.collective = collective_of_today(sync.collective);
  // From here on the recipe holds the network itself, and not the name of a
  // file that other machines may not have.
  sync.topology =
      section.blame("topology", [&] { return topology_text(sync.topology); });
  const SyncPolicyDef& policy =
      section.blame("policy", [&]() -> const SyncPolicyDef& {
        return sync_policy_registry().get(sync.policy);
      });
  section.blame("codec", [&] { policy.check(sync); });
  section.blame("policy",
                [&] { refuse_partial_view(policy, recipe.optimizer); });
  if (section.find("min_elements") == nullptr) {
    sync.min_elements = default_min_elements(sync);
  }
  section.blame("momentum_correction",
                [&] { refuse_momentum_twice(sync, recipe.optimizer); });
}

}  // namespace

void register_recipe_section_sync(RecipeSectionRegistry& sections) {
  sections.add({.name = "sync",
                .summary = "how several workers train together",
                // Behind the optimizer: momentum must not be applied by both.
                .place = 60,
                .options = specs_of(sync_fields()),
                .read = read_sync,
                .write = [](const Recipe& recipe, RecipeWriter& out) {
                  write_fields(recipe.sync, sync_fields(), out);
                }});
}

}  // namespace weft
