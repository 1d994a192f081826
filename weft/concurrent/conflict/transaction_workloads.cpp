#include <cmath>

#include "weft/base/registry.h"
#include "weft/concurrent/conflict/transaction_simulator.h"

namespace weft::concurrent {
namespace {

double exponential(FastRandom& random, double mean) {
  // unit() is below 1, so the logarithm is finite.
  return -mean * std::log1p(-random.unit());
}

// Equal times would keep the cores in step, and they would collide always or
// never; so times spread by half of the mean.
std::function<double(FastRandom&)> around(double mean) {
  return [mean](FastRandom& random) { return mean * (0.5 + random.unit()); };
}

const Registry<TransactionWorkload>& workloads() {
  static const Registry<TransactionWorkload> all = [] {
    Registry<TransactionWorkload> registry("transaction workload");
    registry.add({.name = "stack",
                  .objects = 1,
                  .picks = 1,
                  .length = around(100),
                  .pause = around(100)});
    registry.add({.name = "queue",
                  .objects = 2,
                  .picks = 1,
                  .length = around(100),
                  .pause = around(100)});
    // Past its first 50 ns a transaction has no memory: how long it has run
    // says nothing about what remains.
    registry.add(
        {.name = "txapp",
         .objects = 64,
         .picks = 2,
         .length =
             [](FastRandom& random) { return 50 + exponential(random, 450); },
         .pause = around(100)});
    // Most owners end soon, a few hold on for 20 times as long, and nothing
    // tells a requestor which one it has met.
    registry.add({.name = "bimodal",
                  .objects = 2,
                  .picks = 1,
                  .length =
                      [](FastRandom& random) {
                        const bool is_long = random.below(10) == 0;
                        return (is_long ? 2000 : 100) * (0.5 + random.unit());
                      },
                  .pause = around(100)});
    registry.freeze();
    return registry;
  }();
  return all;
}

}  // namespace

const TransactionWorkload& transaction_workload(std::string_view name) {
  return workloads().get(name);
}

std::vector<std::string> transaction_workload_names() {
  std::vector<std::string> names;
  for (const TransactionWorkload& workload : workloads().all())
    names.push_back(workload.name);
  return names;
}

}  // namespace weft::concurrent
