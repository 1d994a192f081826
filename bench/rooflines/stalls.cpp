// When the machine stands still: a thread on each processor reads the clock in
// a loop, and notes where it went on by more than 50 us without it. What is
// left of a server's tail by that is the machine's: no program runs meanwhile,
// if nothing else was asked to.
//
// Usage: weft-stalls SECONDS; prints one JSON object, with the stalls of each
// processor as pairs of when one began and how long it took, in seconds.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kShortest{50e-6};

struct Stall {
  Seconds at, length;
};

// Those that this process may run on.
std::vector<int> processors() {
  cpu_set_t allowed;
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) found.push_back(cpu);
  }
  return found;
}

bool stay_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
}

std::vector<Stall> watch(Clock::time_point start, Seconds seconds) {
  std::vector<Stall> stalls;
  stalls.reserve(1 << 16);  // memory that is first touched takes its time
  for (auto last = start; last - start < seconds;) {
    const auto now = Clock::now();
    if (now - last > kShortest) stalls.push_back({last - start, now - last});
    last = now;
  }
  return stalls;
}

}  // namespace

int main(int argc, char** argv) {
  const Seconds seconds{argc == 2 ? std::atof(argv[1]) : 0};
  const std::vector<int> cpus = processors();
  if (seconds.count() <= 0 || cpus.empty()) {
    std::fprintf(stderr, "weft-stalls: SECONDS must be a positive number\n");
    return 2;
  }
  std::vector<std::vector<Stall>> found(cpus.size());
  std::atomic<std::size_t> ready = 0;
  std::atomic<bool> all_stay = true;
  {
    std::vector<std::jthread> team;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      team.emplace_back([&, i] {
        if (!stay_on(cpus[i])) all_stay = false;
        // All begin at once: a thread that is being made is no stall.
        for (++ready; ready < cpus.size();) std::this_thread::yield();
        found[i] = watch(Clock::now(), seconds);
      });
    }
  }
  if (!all_stay) {
    std::fprintf(stderr, "weft-stalls: a thread was kept off its processor\n");
    return 1;
  }
  std::printf("{\"seconds\": %g, \"stalls\": [", seconds.count());
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::printf(i == 0 ? "[" : ", [");
    for (std::size_t k = 0; k < found[i].size(); ++k) {
      std::printf("%s[%.6f, %.6f]", k == 0 ? "" : ", ", found[i][k].at.count(),
                  found[i][k].length.count());
    }
    std::printf("]");
  }
  std::printf("]}\n");
  return 0;
}
