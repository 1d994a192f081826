#include "weft/train/traffic_forecast.h"

#include <algorithm>

#include "weft/base/parallel.h"
#include "weft/train/assembly.h"
#include "weft/train/recipe_step.h"
#include "weft/train/step/step_functions.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/part_of_rank.h"
#include "weft/train/sync/synced_worker.h"
#include "weft/train/traffic_log.h"
#include "weft/train/train_loop.h"

namespace weft {
namespace {

constexpr std::int64_t kFewestSteps = 2;
constexpr std::int64_t kMostSteps = 32;

// One rank's part. All ranks see the same meetings, and so end together.
void rehearse(const Recipe& recipe, WorkerGroup& group,
              TrafficForecast& forecast) {
  check_ranks(recipe.sync, group.size());
  const Assembly assembly =
      assemble(recipe, Roles(group.size(), recipe.sync.servers).workers());
  assembly.model->initialize(static_cast<std::uint64_t>(recipe.train.seed));
  const auto source = part_of_rank(
      recipe.sync, &group,
      [&](const Shard& shard) { return assembly.data->train(shard); });
  const StepDescription description(*assembly.model, *assembly.task,
                                    source->inputs(), step_options(recipe));
  SyncedWorker worker(description, *assembly.optimizer, recipe.sync, group);
  source->answer_with(answer_of(description));
  source->seek({});
  const std::int64_t batches = source->batches_per_epoch();
  const std::int64_t most = std::min(kMostSteps, batches);
  TrafficMean mean;
  std::int64_t steps = 0;
  for (bool is_over = false; !is_over;) {
    const WorkerStep step{.number = steps,
                          .lr = recipe.optimizer.lr.at(
                              steps, steps_of(recipe.train, batches), batches),
                          .must_meet = steps + 1 == most};
    const WorkerTotals totals = worker.run(source->next(), step);
    mean.add(*worker.traffic());
    ++steps;
    is_over = steps == most || (totals.have_met && steps >= kFewestSteps);
  }
  const StepTraffic traffic = mean.mean();
  // Each rank has a place of its own.
  forecast.ranks[static_cast<std::size_t>(group.rank())] = {
      traffic.bytes_sent, traffic.bytes_received};
  if (!group.is_first()) return;
  forecast.steps = steps;
  forecast.sync = worker.text();
}

}  // namespace

TrafficForecast forecast_traffic(const Recipe& recipe, LocalRanks& ranks) {
  WEFT_CHECK(ranks.count() == ranks.size());
  if (recipe.privacy.is_on()) {
    throw Error(ErrorCode::kUnsupported, "privacy",
                "the traffic of private training is not told beforehand: its "
                "steps draw on a budget, and so cannot be rehearsed")
        .hint("traffic.jsonl in the run's folder says what steps have sent");
  }
  TrafficForecast forecast;
  forecast.ranks.resize(static_cast<std::size_t>(ranks.size()));
  const int threads = std::max(1, thread_count() / ranks.count());
  ranks.run([&](Transport& transport) {
    set_thread_count(threads);
    WorkerGroup group(transport, recipe.sync.timeout);
    try {
      rehearse(recipe, group, forecast);
    } catch (const Error& error) {
      // The others wait for this worker, and are told why it is gone.
      group.network().fail(error);
      throw;
    }
  });
  return forecast;
}

}  // namespace weft
