// The peer of `weft-concurrent-bench transactions`: the same array and the same
// random numbers, with GCC's transactional memory (-fgnu-tm, libitm).
//
//   weft-itm-array OBJECTS THREADS STEPS
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/worker/serve.h"

#include "weft/base/error.h"
#include "weft/concurrent/random.h"
#include "weft/concurrent/threads.h"

namespace {

using weft::bench::Json;

void add_to_two(std::uint64_t* objects, std::uint32_t count,
                std::uint64_t thread, std::uint64_t transactions,
                std::uint64_t seed) {
  weft::concurrent::FastRandom random(seed, thread);
  for (std::uint64_t i = 0; i < transactions; ++i) {
    std::uint64_t& first = objects[random.below(count)];
    std::uint64_t& second = objects[random.below(count)];
    __transaction_atomic {
      first += 1;
      second += 1;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: weft-itm-array OBJECTS THREADS STEPS\n", stderr);
    return 2;
  }
  std::vector<std::uint64_t> objects(std::stoul(argv[1]));
  const std::uint64_t threads = std::stoul(argv[2]);
  const std::uint64_t steps = std::stoul(argv[3]);
  std::uint64_t done = 0;
  std::uint64_t blocks = 0;
  const auto sum = [&] {
    std::uint64_t all = 0;
    for (const std::uint64_t object : objects) all += object;
    WEFT_CHECK(all == 2 * done, "the array's sum is wrong");
    return all;
  };
  const auto block = [&] {
    ++blocks;
    weft::concurrent::run_threads(static_cast<int>(threads), [&](int thread) {
      add_to_two(objects.data(), static_cast<std::uint32_t>(objects.size()),
                 static_cast<std::uint64_t>(thread), steps / threads, blocks);
    });
    done += steps / threads * threads;
    return static_cast<std::int64_t>(steps / threads * threads);
  };
  weft::bench::serve({{"check",
                       [&] {
                         block();
                         return Json{{"values", {sum()}}};
                       }},
                      {"run", [&] { return weft::bench::timed(block); }},
                      {"counts",
                       [&] {
                         sum();
                         return Json{{"commits", done}};
                       }}},
                     0);
}
