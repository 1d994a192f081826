// How many bytes a second the machine's threads read of memory that they go
// through again and again: the roof of a layer whose weights are read in each
// step. Of few bytes it is the caches' rate, of many the memory's.
//
// Usage: weft-read-rate BYTES [THREADS]   (default: all); prints one JSON
// object.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/rooflines/read.h"

#include "weft/base/huge_pages.h"

namespace {

using weft::bench::read_sum;

constexpr double kSecondsOfPass = 0.02;
constexpr int kPasses = 9;

// Bytes a second of one pass, in which each thread reads its part `rounds`
// times.
double rate(const weft::HugeVector<float>& data, unsigned threads,
            std::size_t rounds) {
  std::atomic<unsigned> ready = 0;
  std::vector<double> seconds(threads);
  {
    std::vector<std::jthread> team;
    for (unsigned t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        const std::size_t begin = data.size() * t / threads;
        const std::size_t end = data.size() * (t + 1) / threads;
        volatile float seen = read_sum(data.data() + begin, end - begin);
        // All read at once: one alone would have the last cache to itself.
        for (++ready; ready < threads;) std::this_thread::yield();
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < rounds; ++i) {
          seen = read_sum(data.data() + begin, end - begin);
        }
        (void)seen;
        seconds[t] = std::chrono::duration<double>(
                         std::chrono::steady_clock::now() - start)
                         .count();
      });
    }
  }
  return static_cast<double>(data.size() * sizeof(float) * rounds) /
         *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const unsigned threads =
      argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10))
               : std::thread::hardware_concurrency();
  if (bytes < 4096 * threads || threads == 0) {
    std::fprintf(stderr,
                 "weft-read-rate: BYTES must be 4096 for each thread at least, "
                 "THREADS a positive number\n");
    return 2;
  }
  const weft::HugeVector<float> data(bytes / sizeof(float), 1.f);
  const double first = rate(data, threads, 1);
  const auto rounds = static_cast<std::size_t>(
      std::max(1.0, kSecondsOfPass * first / static_cast<double>(bytes)));
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    best = std::max(best, rate(data, threads, rounds));
  }
  std::printf(
      "{\"name\": \"read rate\", \"threads\": %u, \"seconds\": 1.0, "
      "\"work\": %.0f, \"bytes_per_second\": %.4e}\n",
      threads, best, best);
}
