// How many f32 operations a second the machine's threads reach with nothing
// but fused multiply-adds in registers: the roof of every matrix product.
//
// Usage: weft-fma-peak [THREADS]   (default: all); prints one JSON object.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <hwy/highway.h>
#include <thread>
#include <vector>

namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Enough chains to hide the latency of two FMA units, few enough for sixteen
// registers.
constexpr int kChains = 12;
constexpr long kRounds = 80'000'000;

// Every chain tends to 1, so no value grows, vanishes or is denormal.
void multiply_add_in_registers(float factor, float& sink) {
  const hn::ScalableTag<float> lanes;
  const auto scale = hn::Set(lanes, factor);
  const auto shift = hn::Set(lanes, 1.0f - factor);
  decltype(hn::Zero(lanes)) chain[kChains];
  for (int i = 0; i < kChains; ++i) {
    chain[i] = hn::Set(lanes, static_cast<float>(i));
  }
  for (long round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kChains; ++i) {
      chain[i] = hn::MulAdd(chain[i], scale, shift);
    }
  }
  auto sum = chain[0];
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, chain[i]);
  sink = hn::GetLane(hn::SumOfLanes(lanes, sum));
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned threads =
      argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10))
               : std::thread::hardware_concurrency();
  if (threads == 0) {
    std::fprintf(stderr, "weft-fma-peak: THREADS must be a positive number\n");
    return 2;
  }
  std::vector<float> sinks(threads);
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> team;
    for (float& sink : sinks) {
      team.emplace_back(multiply_add_in_registers, 0.999f, std::ref(sink));
    }
  }
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  const double lanes = static_cast<double>(hn::Lanes(hn::ScalableTag<float>()));
  const double work = 2.0 * lanes * kChains * kRounds * threads;
  std::printf(
      "{\"name\": \"fma_peak\", \"threads\": %u, \"lanes\": %.0f, "
      "\"seconds\": %.6f, \"work\": %.0f, \"flops_per_second\": %.4e}\n",
      threads, lanes, elapsed.count(), work, work / elapsed.count());
}
