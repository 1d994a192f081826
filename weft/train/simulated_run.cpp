#include "weft/train/simulated_run.h"

#include "weft/base/stopwatch.h"
#include "weft/comm/transport/sim.h"
#include "weft/runtime/executable_cache.h"
#include "weft/train/simulate/computing.h"
#include "weft/train/simulate/failures.h"
#include "weft/train/sync/order.h"

namespace weft {

int simulated_workers(const Recipe& recipe) {
  const std::string& network = recipe.simulate.network;
  return network.empty() ? 0 : parse_topology(network).ranks();
}

TrainResult train_simulated(const Recipe& recipe, const TrainerOptions& options,
                            TrainObserver& observer) {
  const Stopwatch watch;
  const SimulateRecipe& simulate = recipe.simulate;
  const Topology topology = parse_topology(simulate.network);
  if (topology.ranks() < 2) {
    throw Error(ErrorCode::kInvalidArgument, "simulate.network",
                "{} is a network of one worker, who meets nobody",
                in_quotes(simulate.network))
        .hint("leave it out, or simulate several: 4@50us,100Mbit/s");
  }
  const auto seed = static_cast<std::uint64_t>(recipe.train.seed);
  SimWorld world(
      topology,
      {.queueing = has_priorities(recipe.sync) ? Queueing::kSliced
                                               : Queueing::kFirstCome,
       .loss = simulate.loss,
       .retransmit_after = simulate.retransmit_after,
       .tcp_timeout = simulate.tcp_timeout,
       .silence = simulate.silence,
       .most_delay = simulate.most_delay,
       .burst_bytes = static_cast<double>(simulate.burst),
       .seed = seed,
       .failures = parse_failures(simulate.failures, topology.ranks())});
  SimulatedComputing computing(simulate.compute, seed);
  // Workers take turns on one thread, so that all run one plan of each step.
  ExecutableCache executables;
  TrainerOptions of_each = options;
  of_each.computing = &computing;
  of_each.executables = &executables;
  if (of_each.given.data == nullptr) {
    // All workers read one copy, which no cluster could.
    of_each.given.data =
        open_data(recipe, topology.ranks(), /*makes_ahead=*/false);
  }
  TrainResult result;
  world.run_ranks([&](Transport& transport) {
    TrainerOptions own = of_each;
    own.transport = &transport;
    Trainer trainer(recipe, std::move(own));
    TrainResult trained = trainer.run(observer);
    if (transport.rank() == 0) result = std::move(trained);
  });
  result.simulated = {.seconds_here = watch.seconds(),
                      .computing_seconds = world.computing_seconds(0),
                      .price = computing.text()};
  return result;
}

}  // namespace weft
