// Owners of parameters collect the gradients of each step: see step_server.h.
#include "weft/train/sync/auto_codec.h"
#include "weft/train/sync/step_server.h"

namespace weft {
namespace {

Quorum quorum_of(const Options& options) {
  return {.least = static_cast<int>(option<std::int64_t>(options, "quorum")),
          .deadline = option<double>(options, "deadline")};
}

// Why these options make no sense together.
std::optional<Refusal> quorum_declines(const Options& options) {
  const Quorum quorum = quorum_of(options);
  if (quorum.least > 0 || quorum.deadline == 0) return std::nullopt;
  return Refusal{
      "a deadline without a quorum",
      "all workers are waited for, however long that takes",
      fmt::format("server(quorum=3, deadline={:g})", quorum.deadline)};
}

std::optional<Refusal> quorum_declines_workers(const Options& options,
                                               int workers) {
  const Quorum quorum = quorum_of(options);
  if (quorum.least <= workers) return std::nullopt;
  return Refusal{
      fmt::format("{} worker{}", workers, workers == 1 ? "" : "s"),
      fmt::format("a quorum of {} would never come", quorum.least),
      fmt::format("quorum = {}, or leave it out to wait for all", workers)};
}

// What is lost must be borne by a rule, and be of some values alone.
std::optional<Refusal> parts_decline(const Options& options,
                                     const SyncRecipe& recipe) {
  if (!option<bool>(options, "in_part")) return std::nullopt;
  if (recipe.codec != "none" || recipe.sparsify != "none") {
    return Refusal{"in_part with a codec",
                   "a message of which a part is missing could not be decoded",
                   "codec = \"none\" and sparsify = \"none\""};
  }
  if (!is_mean(recipe)) return std::nullopt;
  return Refusal{"in_part with rule 'mean'",
                 "a mean with values that are missing would be no number",
                 "rule = \"average_nan\" or another that bears them"};
}

// A pull that corrects the ones before it must converge.
std::optional<Refusal> server_declines(const Options& options,
                                       const SyncRecipe& recipe) {
  if (auto refusal = quorum_declines(options)) return refusal;
  if (auto refusal = parts_decline(options, recipe)) return refusal;
  // "auto" chooses among codecs that do.
  if (recipe.codec == "auto") return std::nullopt;
  const Pipeline pipeline(pipeline_text(recipe));
  const auto refusal = pipeline.declines_feedback();
  if (!refusal) return std::nullopt;
  return Refusal{fmt::format("codec '{}'", pipeline.text()),
                 "each change of the model corrects what the ones before left "
                 "out, and " +
                     refusal->because,
                 refusal->instead +
                     "; policy = \"allreduce\" sends gradients alone and needs "
                     "no corrections of this codec"};
}

// Messages go to the owners of all buckets, and come from them: each owns its
// share. An owner decodes everyone's messages of its share, and encodes its
// change, which all decode.
double server_seconds(const Options&, const CodecSpeed& codec,
                      const Topology& network, double bytes) {
  const Level level = flat_level(network);
  const double sent = codec.ratio * bytes * (level.size - 1) / level.size;
  return bytes * ((1 + 1.0 / network.ranks()) * codec.encode_seconds_per_byte +
                  2 * codec.decode_seconds_per_byte) +
         2 * (level.latency + sent * level.seconds_per_byte);
}

}  // namespace

void register_sync_policy_server(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "server",
       .summary = "owners of parameters collect gradients and send changes",
       .options = {{.name = "quorum",
                    .value = std::int64_t{0},
                    .summary = "that suffice once the deadline has passed; "
                               "later gradients are lost; 0: all",
                    .range = {.least = 0, .most = 1 << 20},
                    .unit = "workers"},
                   {.name = "deadline",
                    .value = 0.0,
                    .summary = "after the first gradients came",
                    .range = kNotNegative,
                    .unit = "seconds"},
                   {.name = "in_part",
                    .value = false,
                    .summary = "gradients may lose parts on their way, where "
                               "the network loses any"}},
       .updates_whole_model = false,
       .takes_rules = true,
       .fewest_contributions =
           [](const Options& options, int workers) {
             const int least = quorum_of(options).least;
             return least > 0 ? least : workers;
           },
       .has_servers = true,
       .takes_credit = true,
       .applies_each = true,
       .declines = server_declines,
       .declines_workers = quorum_declines_workers,
       // An owner sees the gradients of its own buckets only.
       .clips_first = [](const Options&, const SyncRecipe&) { return true; },
       .seconds = server_seconds,
       .make = [](const Options& options,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<StepServer>(
             quorum_of(options), option<bool>(options, "in_part"), context);
       }});
}

}  // namespace weft
