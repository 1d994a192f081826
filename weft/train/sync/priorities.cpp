#include "weft/train/sync/priorities.h"

#include <algorithm>
#include <numeric>

#include "weft/base/refusal.h"
#include "weft/runtime/plan/step_times.h"
#include "weft/train/sync/gather.h"
#include "weft/train/sync/network.h"
#include "weft/train/sync/order.h"

namespace weft {
namespace {

// What each step of the plan takes here. State is as before afterwards.
std::vector<double> measured_seconds(const PriorityContext& context) {
  std::vector<Tensor> before;
  for (const NamedTensor& named : context.changed) {
    before.push_back(named.tensor.clone());
  }
  Step& step = context.backward;
  std::vector<double> seconds =
      time_steps(step.plan(), step.arguments(), step.results());
  for (std::size_t i = 0; i < before.size(); ++i) {
    context.changed[i].tensor.copy_from(before[i]);
  }
  return seconds;
}

// Where a law says how long a step computes, no time is measured, so that the
// same training takes the same time on every machine: each step of the plan
// takes its share of what is moved and computed.
std::vector<double> assumed_seconds(Step& step) {
  std::vector<double> seconds;
  for (const StepInfo& info : step.plan().steps()) {
    // A processor computes some ten numbers while it moves one byte.
    seconds.push_back(info.cost.bytes + info.cost.flops / 10);
  }
  return seconds;
}

std::vector<double> computing_seconds(const PriorityContext& context) {
  const bool is_measured =
      context.computing == nullptr || context.computing->is_measured();
  std::vector<double> seconds = is_measured ? measured_seconds(context)
                                            : assumed_seconds(context.backward);
  if (context.computing == nullptr) return seconds;
  const double here = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const double charged = context.computing->charged(here);
  for (double& each : seconds) each *= charged / here;
  return seconds;
}

// What parameters take to come, and what is computed with them.
TransferGraph timed_graph(const PriorityContext& context,
                          const Topology& topology) {
  TransferGraph graph = context.backward.transfers();
  const Level level = flat_level(topology);
  for (std::size_t i = 0; i < graph.transfers.size(); ++i) {
    graph.transfers[i] =
        level.latency + level.seconds_per_byte * context.bytes[i];
  }
  const std::vector<double> seconds = computing_seconds(context);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    graph.computations[i].seconds = seconds[i];
  }
  return graph;
}

// The priorities of the first worker, on all.
void share(std::vector<int>& priorities, WorkerGroup& group) {
  const Tensor shared =
      Tensor::zeros({DType::kI32, {static_cast<Dim>(priorities.size())}});
  std::ranges::copy(priorities, shared.data<std::int32_t>());
  group.run([&] {
    return broadcast_tensors(
        group.communicator().open({"broadcast", "priorities"}), 0,
        {{"priorities", shared}});
  });
  std::ranges::copy(shared.span<std::int32_t>(), priorities.begin());
}

void require_plan(const Call<SyncOrderDef>& order, const Step& step) {
  if (!step.is_tagged()) return;
  throw refused("sync.order", in_quotes(order.def->name),
                {"a model that branches, loops or calls",
                 "its steps are not the same in each run, and so cannot be "
                 "timed beforehand",
                 "order = \"tic\" or \"first_use\""},
                ErrorCode::kUnsupported);
}

}  // namespace

std::uint64_t seed_of_draws(const SyncRecipe& recipe, std::uint64_t seed,
                            int rank) {
  if (!policy_of(recipe).def->has_servers) return seed;
  return seed + (static_cast<std::uint64_t>(rank) << 32);
}

Priorities agreed_priorities(const SyncRecipe& recipe,
                             const PriorityContext& context) {
  const Call<SyncOrderDef> order = order_of(recipe);
  const std::vector<std::int64_t> uses = context.backward.first_uses();
  OrderContext of_step{
      .first_uses = uses,
      .seed = seed_of_draws(recipe, context.seed, context.group.rank())};
  if (order.def->needs != OrderNeeds::kTimes) {
    if (order.def->needs == OrderNeeds::kGraph) {
      of_step.graph = context.backward.transfers();
    }
    Priorities result{priorities_of(recipe, of_step), ""};
    if (order.def->is_drawn_anew) {
      // It draws by the seed and the step, so that no worker has to be told.
      result.of_step = [recipe, uses, seed = of_step.seed](std::int64_t step) {
        return priorities_of(recipe,
                             {.first_uses = uses, .seed = seed, .step = step});
      };
    }
    return result;
  }
  require_plan(order, context.backward);
  const Network network = network_of(context.group.communicator(),
                                     context.group.network(), recipe.topology);
  Priorities result{std::vector<int>(uses.size()), ""};
  if (context.group.is_first()) {
    of_step.graph = timed_graph(context, network.topology);
    result.priorities = priorities_of(recipe, of_step);
    // Places are priorities turned around.
    std::vector<std::size_t> places;
    std::vector<std::size_t> as_they_come;
    const int most = std::ranges::max(result.priorities);
    for (std::size_t i = 0; i < uses.size(); ++i) {
      places.push_back(static_cast<std::size_t>(most - result.priorities[i]));
      // Gradients come the last parameter's first.
      as_they_come.push_back(uses.size() - i);
    }
    result.text = fmt::format(
        "order {}: efficiency {:.2f} is expected, {:.2f} in the order of "
        "backward",
        order.def->name, schedule_of(of_step.graph, places).efficiency(),
        schedule_of(of_step.graph, as_they_come).efficiency());
  }
  share(result.priorities, context.group);
  return result;
}

}  // namespace weft
