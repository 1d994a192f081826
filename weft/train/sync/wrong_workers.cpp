#include "weft/train/sync/wrong_workers.h"

namespace weft {
namespace {

std::optional<Refusal> needs(const Options& options, int workers, int factor,
                             int more) {
  const auto wrong = option<std::int64_t>(options, "f");
  const std::int64_t least = factor * wrong + more;
  if (workers >= least) return std::nullopt;
  return Refusal{
      fmt::format("{} worker{}", workers, workers == 1 ? "" : "s"),
      fmt::format("{} of them may be wrong, which takes n >= {} f + {} = {}",
                  wrong, factor, more, least),
      workers < more ? fmt::format("{} workers", least)
                     : fmt::format("{} workers, or f = {}", least,
                                   (workers - more) / factor)};
}

}  // namespace

OptionSpec wrong_workers_option() {
  return {.name = "f",
          .value = std::int64_t{1},
          .summary = "that may be wrong",
          .range = {.least = 0, .most = 1 << 20},
          .unit = "workers"};
}

std::optional<Refusal> needs_workers(const Options& options, int workers,
                                     int factor) {
  return needs(options, workers, factor, 3);
}

std::optional<Refusal> needs_majority(const Options& options, int workers) {
  return needs(options, workers, 2, 1);
}

}  // namespace weft
