#include "weft/kernels/simd/machine_roof.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/machine_roof.cpp"
#include <algorithm>
#include <cstdint>
#include <hwy/foreach_target.h>

#include "weft/base/huge_pages.h"
#include "weft/base/parallel.h"
#include "weft/base/stopwatch.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Enough chains to hide the latency of two units, few enough for sixteen
// registers.
constexpr int kChains = 12;

// Multiply-adds in registers; returns how many operations they were. Every
// chain tends to 1, so that no value grows, vanishes or is denormal.
double multiply_add_in_registers(std::int64_t rounds, float& sink) {
  const hn::ScalableTag<float> lanes;
  const auto scale = hn::Set(lanes, 0.999f);
  const auto shift = hn::Set(lanes, 0.001f);
  decltype(hn::Zero(lanes)) chain[kChains];
  for (int i = 0; i < kChains; ++i) {
    chain[i] = hn::Set(lanes, static_cast<float>(i));
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) {
      chain[i] = hn::MulAdd(chain[i], scale, shift);
    }
  }
  auto sum = chain[0];
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, chain[i]);
  sink = hn::GetLane(hn::SumOfLanes(lanes, sum));
  return 2.0 * static_cast<double>(hn::Lanes(lanes)) * kChains *
         static_cast<double>(rounds);
}

// A sum in as many chains as keep the loads coming.
void read_floats(const float* data, std::int64_t count, float& sink) {
  const hn::ScalableTag<float> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  decltype(hn::Zero(lanes)) sums[8];
  for (auto& sum : sums) sum = hn::Zero(lanes);
  for (std::int64_t i = 0; i + 8 * width <= count; i += 8 * width) {
    for (int k = 0; k < 8; ++k) {
      sums[k] = hn::Add(sums[k], hn::LoadU(lanes, data + i + k * width));
    }
  }
  for (int k = 1; k < 8; ++k) sums[0] = hn::Add(sums[0], sums[k]);
  sink = hn::GetLane(hn::SumOfLanes(lanes, sums[0]));
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

constexpr int kRuns = 5;
constexpr std::int64_t kRounds = 1'000'000;
// Twice the last-level cache of most machines, for all threads together.
constexpr std::int64_t kFloats = std::int64_t{1} << 24;

MachineRoof measured_roof() {
  const auto multiply_add = WEFT_FOR_MACHINE(multiply_add_in_registers);
  const auto read = WEFT_FOR_MACHINE(read_floats);
  const std::int64_t threads = thread_count();
  MachineRoof roof;
  volatile float sink = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Stopwatch watch;
    parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
      float own = 0;
      multiply_add(kRounds * (end - begin), own);
      sink = own;
    });
    const double seconds = watch.seconds();
    float own = 0;
    const double of_round = multiply_add(1, own);
    roof.flops_per_second =
        std::max(roof.flops_per_second,
                 of_round * static_cast<double>(kRounds * threads) / seconds);
  }
  const HugeVector<float> data(kFloats, 1.f);
  for (int run = 0; run < kRuns; ++run) {
    const Stopwatch watch;
    parallel_for(kFloats, kFloats / threads,
                 [&](std::int64_t begin, std::int64_t end) {
                   float own = 0;
                   read(data.data() + begin, end - begin, own);
                   sink = own;
                 });
    roof.bytes_per_second = std::max(roof.bytes_per_second,
                                     sizeof(float) * kFloats / watch.seconds());
  }
  (void)sink;
  return roof;
}

}  // namespace

const MachineRoof& machine_roof() {
  static const MachineRoof measured = measured_roof();
  return measured;
}

}  // namespace weft
#endif
