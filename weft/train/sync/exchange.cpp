#include "weft/train/sync/exchange.h"

#include "weft/comm/codec/pipeline_text.h"
#include "weft/comm/collective/all_reduce.h"
#include "weft/train/sync/dense_collective.h"
#include "weft/train/sync/stream_collective.h"

namespace weft {
namespace {

// What collective = "all_gather" and "auto" stand for beside the registries.
constexpr std::string_view kGather = "all_gather";
constexpr std::string_view kAuto = "auto";

std::string_view name_of(std::string_view collective) {
  return name_of_call(collective, "sync.collective");
}

bool is_dense(const SyncRecipe& recipe) {
  return all_reduce_registry().find(name_of(recipe.collective)) != nullptr;
}

// "auto(qsgd(4))" chooses among these alone: others have no dense phase.
bool is_for_streams(const SyncRecipe& recipe) {
  const std::string_view name = name_of(recipe.collective);
  return sparse_all_reduce_registry().find(name) != nullptr ||
         (name == kAuto && recipe.collective != kAuto);
}

template <class Def>
std::string list_names(const Registry<Def>& registry) {
  std::string list;
  for (const Def& def : registry.all()) {
    list += (list.empty() ? "" : ", ") + def.name;
  }
  return list;
}

void refuse_unknown(const SyncRecipe& recipe) {
  if (recipe.collective == kAuto || recipe.collective == kGather ||
      is_dense(recipe) || is_for_streams(recipe)) {
    return;
  }
  throw Error(ErrorCode::kInvalidArgument, "sync.collective",
              "no collective '{}'", recipe.collective)
      .detail("for dense gradients:    " + list_names(all_reduce_registry()))
      .detail("for sparse gradients:   " +
              list_names(sparse_all_reduce_registry()))
      .detail("for any codec's:        " + std::string(kGather))
      .hint("\"auto\" takes what the network is fastest with");
}

// Whatever is wrong with its options is said when the recipe is read.
void check_options(const SyncRecipe& recipe) {
  if (is_dense(recipe)) AllReduce{recipe.collective};
  if (is_for_streams(recipe)) parse_stream_collective(recipe.collective);
}

Error refusal(const SyncRecipe& recipe, std::string_view reason) {
  return Error(ErrorCode::kInvalidArgument, "sync.collective",
               "'{}' cannot carry '{}': {}", recipe.collective,
               pipeline_text(recipe), reason);
}

// Entries as they are: indices and f32 values, which streams can add.
bool is_plain_entries(const SyncRecipe& recipe) {
  const PipelineText text = parse_pipeline(pipeline_text(recipe));
  return text.sparsifier && !text.bytes &&
         (!text.index || text.index->def->name == "raw") &&
         (!text.value || text.value->def->name == "none");
}

}  // namespace

ExchangeKind exchange_kind(const SyncRecipe& recipe) {
  refuse_unknown(recipe);
  check_options(recipe);
  if (recipe.codec == "auto") return ExchangeKind::kDense;  // any will do
  const Pipeline pipeline(pipeline_text(recipe));
  const bool is_auto = recipe.collective == kAuto;
  // Any message can be gathered, so nothing more has to fit.
  if (recipe.collective == kGather) return ExchangeKind::kGather;
  // Entries can be summed like dense values only where all workers pick the
  // same.
  if (pipeline.summable_as() != "" &&
      (!pipeline.is_sparse() || pipeline.has_shared_indices())) {
    if (!is_auto && !is_dense(recipe)) {
      throw refusal(recipe, "it is for sparse gradients, and these are dense")
          .hint("collective \"auto\", or sparsify \"topk(0.01)\"");
    }
    return pipeline.is_sparse() ? ExchangeKind::kSharedIndices
                                : ExchangeKind::kDense;
  }
  if (is_plain_entries(recipe)) {
    if (!is_auto && !is_for_streams(recipe)) {
      throw refusal(recipe,
                    "it adds dense gradients, and workers pick different "
                    "entries")
          .hint("collective \"auto\" or one of: " +
                list_names(sparse_all_reduce_registry()) +
                "; or sparsify \"randomk(0.01)\", whose entries are the same "
                "everywhere");
    }
    return ExchangeKind::kStream;
  }
  if (!is_auto) {
    throw refusal(recipe, "messages of this codec cannot be added on their way")
        .hint(
            "collective \"all_gather\", policy \"server\", or a codec that "
            "can: none, f16, bf16");
  }
  return ExchangeKind::kGather;
}

void check_ranks(const SyncRecipe& recipe, int ranks) {
  // Whether a collective can run depends on numbers of ranks alone.
  Topology network{{{ranks, 0, 0}}};
  if (recipe.topology != kAuto) {
    network = parse_topology(recipe.topology);
    if (network.ranks() != ranks) {
      throw Error(ErrorCode::kInvalidArgument, "sync.topology",
                  "'{}' has {} ranks, but {} workers train", recipe.topology,
                  network.ranks(), ranks);
    }
  }
  // Its constructor refuses; all else runs with any number of ranks.
  if (is_dense(recipe)) DenseCollective(recipe.collective, network);
}

}  // namespace weft
