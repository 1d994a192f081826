#include "weft/comm/codec/pipeline_text.h"
#include "weft/train/recipe/entries.h"
#include "weft/train/recipe/fields.h"
#include "weft/train/recipe/older_text.h"
#include "weft/train/recipe/section_def.h"
#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/network.h"
#include "weft/train/sync/order.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/rules.h"

namespace weft {
namespace {

constexpr const char* kNone = "none";
constexpr const char* kAuto = "auto";

// A sparsifier, or "none".
constexpr CallKind kSparsifiers{
    .canonical =
        [](std::string_view text) {
          return text == kNone
                     ? std::string(text)
                     : to_string(parse_call(text, sparsifier_registry(),
                                            "sync.sparsify"));
        },
    .entries =
        [] {
          auto entries = entries_of(sparsifier_registry());
          entries.push_back({kNone, "all entries are sent", {}, "sparsifier"});
          return entries;
        }};

std::vector<EntryOptions> codec_entries() {
  std::vector<EntryOptions> entries{
      {kAuto, "what the network is fastest with", {}, "codec"}};
  const auto append = [&](std::vector<EntryOptions> more, const char* prefix) {
    for (EntryOptions& entry : more) {
      entry.entry = prefix + entry.entry;
      entries.push_back(std::move(entry));
    }
  };
  append(entries_of(value_codec_registry()), "value:");
  append(entries_of(index_codec_registry()), "index:");
  append(entries_of(byte_codec_registry()), "");
  return entries;
}

// What stands behind the sparsifier in a pipeline, or "auto".
constexpr CallKind kCodecs{.canonical =
                               [](std::string_view text) {
                                 return text == kAuto
                                            ? std::string(text)
                                            : to_string(parse_pipeline(text));
                               },
                           .entries = codec_entries};

// Checkpoints from before calls had one grammar write collectives otherwise.
constexpr CallKind kCollectives{
    .canonical =
        [](std::string_view text) {
          return calls_of<collective_registry>()->canonical(
              collective_of_today(text));
        },
    .entries = collective_entries};

const Fields<SyncRecipe>& sync_fields() {
  using R = SyncRecipe;
  static const Fields<R> fields{
      field<&R::policy>("policy", "what workers exchange, and who applies it",
                        {.calls = calls_of<sync_policy_registry>()}),
      field<&R::rule>("rule", "what is made of the workers' contributions",
                      {.calls = calls_of<aggregation_rule_registry>()}),
      field<&R::sparsify>("sparsify",
                          "which gradients are sent: \"topk(0.01)\", …",
                          {.calls = &kSparsifiers}),
      field<&R::codec>("codec",
                       "how they are encoded: \"value:qsgd(7)\", \"3lc\", "
                       "\"index:delta value:qsgd(7) | zstd\", … (value: may be "
                       "left out where it stands alone)",
                       {.calls = &kCodecs}),
      field<&R::collective>(
          "collective",
          "how they are summed: \"ring\", \"blueconnect([4, 8])\", …",
          {.calls = &kCollectives}),
      field<&R::topology>("topology",
                          "of the network: measured, written out, or a file"),
      field<&R::bucket_bytes>(
          "bucket_bytes", "of gradients that travel together",
          {.range = {.least = 4, .most = kMostCount}, .unit = "bytes"}),
      field<&R::slices>("slices",
                        "cut parameters that are larger than a bucket"),
      field<&R::order>("order", "which messages go first where several wait",
                       {.calls = calls_of<sync_order_registry>()}),
      field<&R::credit>(
          "credit", "under way while more urgent ones may overtake; 0: any",
          {.range = {.least = 0, .most = kMostCount}, .unit = "bytes"}),
      field<&R::servers>(
          "servers", "that compute nothing, the last of all; 0: all serve",
          {.range = {.least = 0, .most = kMostCount}, .unit = "ranks"}),
      field<&R::overlap>("overlap", "send gradients while others are computed"),
      field<&R::overlap_forward>(
          "overlap_forward",
          "compute with each parameter as soon as it has come"),
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

void read_sync(SectionReader& section, Recipe& recipe) {
  SyncRecipe& sync = recipe.sync;
  read_fields(section, sync_fields(), sync);
  const Call<SyncOrderDef> order = order_of(sync);
  if (order.def->defaults != nullptr) {
    SyncRecipe other = sync;
    order.def->defaults(order.options, other);
    for (const Field<SyncRecipe>& field : sync_fields()) {
      if (section.find(field.spec.name) == nullptr) {
        field.set(sync, field.get(other));
      }
    }
  }
  section.refuse_unknown();
  // From here on the recipe holds the network itself, and not the name of a
  // file that other machines may not have.
  sync.topology =
      section.blame("topology", [&] { return topology_text(sync.topology); });
  // One that a program gives is asked when it is there (assembly.h); until then
  // the plainest stands for it.
  const auto optimizer = recipe.optimizer.name == kGivenObject
                             ? make_optimizer("sgd", {})
                             : make_optimizer(recipe.optimizer);
  for (const SyncRule& rule : sync_rules()) {
    section.blame(rule.key, [&] { rule.check(sync, *optimizer); });
  }
  // The codec must be known to be right before it is asked for its default.
  if (section.find("min_elements") == nullptr) {
    sync.min_elements = default_min_elements(sync);
  }
}

}  // namespace

void register_recipe_section_sync(RecipeSectionRegistry& sections) {
  sections.add({.name = "sync",
                .summary = "how several workers train together",
                // It comes behind the optimizer: momentum must not be applied
                // by both.
                .place = 60,
                .options = specs_of(sync_fields()),
                .read = read_sync,
                .write = [](const Recipe& recipe, RecipeWriter& out) {
                  write_fields(recipe.sync, sync_fields(), out);
                }});
}

}  // namespace weft
