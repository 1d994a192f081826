// weft-l2hmc [CHAINS [MOVES]]: draws from a mixture by L2HMC, eagerly, staged,
// and as a function built by hand, and says how fast each is.
#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <string>

#include "examples/l2hmc/by_hand.h"

#include "weft/base/stopwatch.h"
#include "weft/runtime/jit/jit.h"

namespace {

using weft::Tensor;
using weft::Value;

Tensor key_of(int move) { return Tensor::of<std::int64_t>({2}, {1, move}); }

// Chains moved per second: the best of three rounds, after one to warm up. All
// moves go forward here; who draws chooses the direction at random each time.
void measure(const char* name, std::int64_t chains, int moves,
             const std::function<Tensor(const Tensor&, const Tensor&)>& move) {
  double best = 0;
  Tensor x;
  for (int round = 0; round < 4; ++round) {
    x = Tensor::zeros({weft::DType::kF32, {chains, 2}});
    const weft::Stopwatch watch;
    for (int i = 0; i < moves; ++i) x = move(x, key_of(i));
    const double rate = static_cast<double>(moves) *
                        static_cast<double>(chains) / watch.seconds();
    if (round > 0) best = std::max(best, rate);
  }
  fmt::print("{:8} {:12.0f} chains/s   first chain at ({:.4f}, {:.4f})\n", name,
             best, x.item(0), x.item(1));
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t chains = argc > 1 ? std::stoll(argv[1]) : 10;
  const int moves = argc > 2 ? std::stoi(argv[2]) : 200;

  weft::examples::L2hmc sampler;
  sampler.initialize(/*seed=*/1);
  const auto step = [&](const Value& x, const Value& key, bool is_forward) {
    return sampler.move(x, key, is_forward);
  };
  const auto staged = weft::jit(step);  // all it takes

  weft::examples::L2hmcByHand by_hand(sampler, chains, true);
  measure("eager", chains, moves, [&](const Tensor& x, const Tensor& key) {
    return step(x, key, true).position.tensor();
  });
  measure("staged", chains, moves, [&](const Tensor& x, const Tensor& key) {
    return staged(x, key, true).position.tensor();
  });
  measure("by hand", chains, moves, [&](const Tensor& x, const Tensor& key) {
    return by_hand.move(x, key)[0];
  });
}
