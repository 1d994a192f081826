#include "weft/train/sync/exchange.h"

#include "weft/comm/codec/pipeline_text.h"
#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/sparse/all_reduce.h"

namespace weft {
namespace {

// What collective = "all_gather" and "auto" stand for beside the registries.
constexpr std::string_view kGather = "all_gather";
constexpr std::string_view kAuto = "auto";

std::string_view name_of(std::string_view collective) {
  return collective.substr(0, collective.find('('));
}

bool is_dense(const SyncRecipe& recipe) {
  return all_reduce_registry().find(name_of(recipe.collective)) != nullptr;
}

bool is_for_streams(const SyncRecipe& recipe) {
  return sparse_all_reduce_registry().find(name_of(recipe.collective)) !=
         nullptr;
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
  if (recipe.codec == "auto") return ExchangeKind::kDense;  // any will do
  const Pipeline pipeline(pipeline_text(recipe));
  const bool is_auto = recipe.collective == kAuto;
  if (recipe.collective == kGather) return ExchangeKind::kGather;
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

}  // namespace weft
