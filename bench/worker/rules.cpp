// weft-bench rule --rule TEXT --workers N --size D: seconds that a rule takes
// for gradients of D numbers of N workers, one bucket; "pairs" is what all
// distances take pair by pair, from memory, and "distances" by our kernel.
#include <algorithm>
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/base/philox.h"
#include "weft/base/stopwatch.h"
#include "weft/train/sync/lone_rule.h"
#include "weft/train/sync/pair_distances.h"

namespace weft::bench {
namespace {

constexpr int kRuns = 5;

std::vector<std::vector<float>> gradients_of(std::size_t workers,
                                             std::size_t size) {
  std::vector<std::vector<float>> gradients(workers, std::vector<float>(size));
  for (std::size_t i = 0; i < workers; ++i) {
    const RandomStream random{1, static_cast<std::uint32_t>(i), 0};
    for (std::size_t k = 0; k < size; ++k) {
      // Nothing of a rule's time depends on what it is given.
      gradients[i][k] = uniform_from(random.block(k / 4)[k % 4]) - 0.5f;
    }
  }
  return gradients;
}

template <class Body>
double median_seconds(Body&& body) {
  body();
  std::vector<double> seconds;
  for (int run = 0; run < kRuns; ++run) {
    const Stopwatch watch;
    body();
    seconds.push_back(watch.seconds());
  }
  std::ranges::sort(seconds);
  return seconds[kRuns / 2];
}

// As the reference kernels do it: squares of differences in f32, vectorized by
// the compiler.
float plain_distance(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr std::size_t kChains = 32;
  float sums[kChains] = {};
  std::size_t i = 0;
  for (; i + kChains <= a.size(); i += kChains) {
    for (std::size_t c = 0; c < kChains; ++c) {
      const float apart = a[i + c] - b[i + c];
      sums[c] += apart * apart;
    }
  }
  for (; i < a.size(); ++i) sums[0] += (a[i] - b[i]) * (a[i] - b[i]);
  float sum = 0;
  for (const float each : sums) sum += each;
  return sum;
}

}  // namespace

void measure_rule(const WorkerOptions& options) {
  const auto workers = static_cast<std::size_t>(options.integer("workers"));
  const auto size = static_cast<std::size_t>(options.integer("size"));
  const std::string text = options.text("rule");
  const auto gradients = gradients_of(workers, size);
  std::vector<Contribution> arrived;
  for (std::size_t i = 0; i < workers; ++i) {
    arrived.push_back({static_cast<int>(i), gradients[i]});
  }
  double seconds = 0;
  double found = 0;
  std::vector<double> distances(pairs_of(workers));
  if (text == "pairs") {
    seconds = median_seconds([&] {
      for (std::size_t b = 0; b < workers; ++b) {
        for (std::size_t a = 0; a < b; ++a) {
          found +=
              static_cast<double>(plain_distance(gradients[a], gradients[b]));
        }
      }
    });
  } else if (text == "distances") {
    seconds = median_seconds([&] {
      std::ranges::fill(distances, 0.0);
      add_pair_distances(arrived, distances);
      found += distances[0];
    });
  } else {
    SyncRecipe recipe;
    recipe.rule = text;
    LoneRule rule(make_rule(recipe, {.workers = static_cast<int>(workers)}),
                  size);
    std::vector<float> result(size);
    seconds = median_seconds([&] {
      rule.combine(arrived, {}, result);
      found += static_cast<double>(result[0]);
    });
  }
  // What was found is printed, so that nothing of it is left out.
  fmt::print("{}\n", Json{{"seconds", seconds}, {"found", found}}.dump());
}

}  // namespace weft::bench
