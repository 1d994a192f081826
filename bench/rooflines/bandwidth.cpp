// How many bytes a second the machine's threads move between memory and
// registers: STREAM's triad, a = b + s c, on arrays far larger than the cache
// (McCalpin, "Memory bandwidth and machine balance", 1995). As there, the
// line that a store reads first is not counted.
//
// Usage: weft-bandwidth [THREADS]   (default: all); prints one JSON object.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kElements = std::size_t{1} << 24;  // 128 MiB an array
constexpr int kPasses = 7;

struct Arrays {
  std::vector<double> a, b, c;
};

void triad(Arrays& arrays, std::size_t begin, std::size_t end) {
  double* a = arrays.a.data();
  const double* b = arrays.b.data();
  const double* c = arrays.c.data();
  for (std::size_t i = begin; i < end; ++i) a[i] = b[i] + 0.5 * c[i];
}

double seconds_of_one_pass(Arrays& arrays, unsigned threads) {
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> team;
    for (unsigned t = 0; t < threads; ++t) {
      team.emplace_back(triad, std::ref(arrays), kElements * t / threads,
                        kElements * (t + 1) / threads);
    }
  }
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned threads =
      argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10))
               : std::thread::hardware_concurrency();
  if (threads == 0) {
    std::fprintf(stderr, "weft-bandwidth: THREADS must be a positive number\n");
    return 2;
  }
  Arrays arrays{std::vector<double>(kElements, 1.0),
                std::vector<double>(kElements, 2.0),
                std::vector<double>(kElements, 3.0)};
  seconds_of_one_pass(arrays, threads);  // wakes the threads and the clock
  double best = seconds_of_one_pass(arrays, threads);
  for (int pass = 1; pass < kPasses; ++pass) {
    best = std::min(best, seconds_of_one_pass(arrays, threads));
  }
  const double bytes = 3.0 * sizeof(double) * kElements;
  std::printf(
      "{\"name\": \"bandwidth\", \"threads\": %u, \"seconds\": %.6f, "
      "\"work\": %.0f, \"bytes_per_second\": %.4e}\n",
      threads, best, bytes, bytes / best);
}
