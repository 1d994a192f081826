// Sums of sparse streams: what a rank does between two messages of a sparse
// all-reduce. The rates of SumRates (weft/comm/sparse/stream_sum.h) are from
// here.
#include <benchmark/benchmark.h>
#include <vector>

#include "bench/micro/benches.h"

#include "weft/base/philox.h"
#include "weft/comm/sparse/chooser.h"
#include "weft/comm/sparse/stream_sum.h"
#include "weft/comm/sparse/survey.h"

namespace weft::micro {
namespace {

constexpr std::uint32_t kItems = 1'000'000;

// kItems of about kItems / density elements, at random gaps.
Stream random_items(double density, std::uint64_t size, std::uint32_t seed) {
  const RandomStream random{seed, 0, 0};
  const double most_gap = 2 / density - 1;
  std::vector<std::uint32_t> indices(kItems);
  double at = 0;
  for (std::uint32_t i = 0; i < kItems; ++i) {
    indices[i] = static_cast<std::uint32_t>(at);
    at +=
        1 + static_cast<double>(uniform_from(random.word(i))) * (most_gap - 1);
  }
  return Stream::of<std::uint32_t, float>(size, indices,
                                          std::vector<float>(kItems, 1));
}

std::uint64_t size_for(double density) {
  return static_cast<std::uint64_t>(2 * kItems / density);
}

void merge(benchmark::State& state, double density) {
  const Stream a = random_items(density, size_for(density), 1);
  const Stream b = random_items(density, size_for(density), 2);
  std::vector<std::uint32_t> indices(2 * kItems);
  std::vector<float> values(2 * kItems);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        merge_items(a.indices<std::uint32_t>(), a.values<float>().data(),
                    b.indices<std::uint32_t>(), b.values<float>().data(),
                    indices.data(), values.data()));
  }
  state.SetItemsProcessed(state.iterations() * 2 * kItems);
}

// The whole sum, memory for the result included.
void sum_sparse(benchmark::State& state, double density) {
  const Stream a = random_items(density, size_for(density), 1);
  const Stream b = random_items(density, size_for(density), 2);
  for (auto _ : state) {
    state.PauseTiming();
    Stream first = a.copy();
    Stream second = b.copy();
    state.ResumeTiming();
    benchmark::DoNotOptimize(sum(std::move(first), std::move(second)));
  }
  state.SetItemsProcessed(state.iterations() * 2 * kItems);
}

void scatter_add(benchmark::State& state, double density) {
  const Stream items = random_items(density, size_for(density), 1);
  Stream total = Stream::dense_zeros(items.type());
  for (auto _ : state) {
    state.PauseTiming();
    Stream next = items.copy();
    state.ResumeTiming();
    total = sum(std::move(total), std::move(next));
  }
  state.SetItemsProcessed(state.iterations() * kItems);
}

void add_dense(benchmark::State& state) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 24;
  const StreamType type{DType::kF32, kSize};
  Stream total = Stream::dense_zeros(type);
  for (auto _ : state) {
    state.PauseTiming();
    Stream next = Stream::dense_zeros(type);
    state.ResumeTiming();
    total = sum(std::move(total), std::move(next));
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t{kSize});
}

void clear_dense(benchmark::State& state) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 24;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Stream::dense_zeros({DType::kF32, kSize}));
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t{kSize});
}

// What a rank thinks between a survey and its sum: survey.h charges for it.
void choose(benchmark::State& state, int ranks) {
  constexpr int kSamples = 8;
  const StreamType type{DType::kF32, std::uint64_t{1} << 24};
  const auto size = static_cast<double>(type.size);
  std::vector<SurveyMessage> said(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    SurveyMessage& message = said[static_cast<std::size_t>(rank)];
    message.items = type.size / 1000;
    for (int i = 0; i < kSamples; ++i) {  // densities that fall with the root
      const double share = (i + (rank + 0.5) / ranks) / kSamples;
      message.indices.push_back(
          static_cast<std::uint64_t>(share * share * size));
    }
  }
  const SparseChooser chooser(type, ranks, {ranks, 50e-6, 1e-9});
  for (auto _ : state) {
    benchmark::DoNotOptimize(chooser.choose(support_of(said, type), 0.5));
  }
}

}  // namespace

void register_streams() {
  for (const double density : {1e-3, 1e-2, 1e-1, 3e-1}) {
    const std::string suffix = fmt::format("density:{}", density);
    benchmark::RegisterBenchmark(("stream/merge/" + suffix).c_str(), merge,
                                 density);
    benchmark::RegisterBenchmark(("stream/sum/" + suffix).c_str(), sum_sparse,
                                 density);
  }
  for (const double density : {1e-2, 1e-1, 3e-1}) {
    benchmark::RegisterBenchmark(
        fmt::format("stream/scatter_add/density:{}", density).c_str(),
        scatter_add, density);
  }
  for (const int ranks : {8, 32, 128}) {
    benchmark::RegisterBenchmark(
        fmt::format("stream/choose/ranks:{}", ranks).c_str(), choose, ranks);
  }
  benchmark::RegisterBenchmark("stream/add_dense", add_dense);
  benchmark::RegisterBenchmark("stream/clear_dense", clear_dense);
}

}  // namespace weft::micro
