// What staging costs and saves: a call that finds its graph beside the bare
// run of that graph's plan, a trace, and L2HMC eagerly, staged, and built by
// hand.
#include "bench/micro/benches.h"
#include "bench/micro/op_runner.h"
#include "examples/l2hmc/by_hand.h"

#include "weft/runtime/jit/jit.h"

namespace weft::micro {
namespace {

constexpr std::int64_t kTinySize = 16;

Tensor small_numbers() {
  return random_tensor({{DType::kF32, {kTinySize}}, 0, 0.1}, 0);
}

// What a call costs over executor/run is the price of finding the graph.
void call(benchmark::State& state) {
  const Value x = small_numbers();
  const auto f = jit([](const Value& a) { return a + a; });
  if (!check_close(state, f(x).tensor(), (x + x).tensor(), 0)) return;
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
}

void bare_run(benchmark::State& state) {
  const std::vector<Tensor> x{small_numbers()};
  FunctionBuilder builder("sum");
  const Value a = builder.parameter(x[0].type(), "a");
  Executable sum(builder.build([&] { return std::vector{a + a}; }));
  const Value eager = Value(x[0]) + Value(x[0]);
  if (!check_close(state, sum.run(x)[0], eager.tensor(), 0)) return;
  for (auto _ : state) benchmark::DoNotOptimize(sum.run(x));
}

Tensor key_of(std::int64_t move) {
  return Tensor::of<std::int64_t>({2}, {1, move});
}

void trace(benchmark::State& state) {
  examples::L2hmc sampler;
  sampler.initialize(1);
  const Value x = Tensor::zeros({DType::kF32, {10, 2}});
  std::size_t nodes = 0;
  for (auto _ : state) {
    const auto f = jit([&](const Value& at, const Value& key) {
      return sampler.move(at, key, true);
    });
    nodes = f.graph(x, key_of(0))->function().nodes().size();
  }
  state.counters["nodes"] = static_cast<double>(nodes);
}

// Moves all chains once per iteration.
template <class Move>
void move_chains(benchmark::State& state, std::int64_t chains, Move&& move) {
  Tensor x = Tensor::zeros({DType::kF32, {chains, 2}});
  std::int64_t i = 0;
  for (auto _ : state) x = move(x, key_of(i++));
  state.counters["chains/s"] =
      benchmark::Counter(static_cast<double>(chains),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void l2hmc_eager(benchmark::State& state, std::int64_t chains) {
  examples::L2hmc sampler;
  sampler.initialize(1);
  move_chains(state, chains, [&](const Tensor& x, const Tensor& key) {
    return sampler.move(x, key, true).position.tensor();
  });
}

void l2hmc_staged(benchmark::State& state, std::int64_t chains) {
  examples::L2hmc sampler;
  sampler.initialize(1);
  const auto f = jit([&](const Value& x, const Value& key) {
    return sampler.move(x, key, true);
  });
  f(Tensor::zeros({DType::kF32, {chains, 2}}), key_of(0));
  move_chains(state, chains, [&](const Tensor& x, const Tensor& key) {
    return f(x, key).position.tensor();
  });
}

void l2hmc_by_hand(benchmark::State& state, std::int64_t chains) {
  examples::L2hmc sampler;
  sampler.initialize(1);
  examples::L2hmcByHand by_hand(sampler, chains, true);
  const Tensor x = Tensor::zeros({DType::kF32, {chains, 2}});
  const Tensor eager = sampler.move(x, key_of(0), true).position.tensor();
  if (!check_close(state, by_hand.move(x, key_of(0))[0], eager, 1e-4)) return;
  move_chains(state, chains, [&](const Tensor& at, const Tensor& key) {
    return by_hand.move(at, key)[0];
  });
}

}  // namespace

void register_jit() {
  benchmark::RegisterBenchmark("jit/call", call)->UseRealTime();
  benchmark::RegisterBenchmark("jit/bare_run", bare_run)->UseRealTime();
  benchmark::RegisterBenchmark("jit/trace_l2hmc", trace)->UseRealTime();
  for (const std::int64_t chains : {10, 100, 1000}) {
    const auto add = [&](const char* form, auto run) {
      benchmark::RegisterBenchmark(
          fmt::format("jit/l2hmc_{}/{}", form, chains).c_str(),
          [run, chains](benchmark::State& state) { run(state, chains); })
          ->UseRealTime();
    };
    add("eager", l2hmc_eager);
    add("staged", l2hmc_staged);
    add("by_hand", l2hmc_by_hand);
  }
}

}  // namespace weft::micro
