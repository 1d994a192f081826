// weft-bench recursion: what activations cost, and how many live at once.
#include <algorithm>
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "tests/support/recursions.h"

#include "weft/base/stopwatch.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/runtime/tagged/executor.h"

namespace weft::bench {
namespace {

using test::kNumber;
using test::number;
using test::Values;

constexpr int kWarmUps = 3;

TaggedExecutor executor_of(const Graph& graph, std::string_view entry,
                           TaggedOptions options) {
  return TaggedExecutor(lower(graph, entry, std::vector{kNumber}),
                        std::move(options));
}

std::int64_t value_at(TaggedExecutor& executor, std::int64_t n) {
  const std::vector<Tensor> arguments{Tensor::scalar(n)};
  return static_cast<std::int64_t>(executor.run(arguments)[0].item());
}

// fib(24), f(0) = f(1) = 1, over and over.
Json measure_fibonacci(std::int64_t repetitions, int workers) {
  Program program;
  test::add_fibonacci(program);
  TaggedExecutor executor =
      executor_of(program.build(), "fib", {.workers = workers});
  for (int i = 0; i < kWarmUps; ++i) value_at(executor, 24);
  std::int64_t peak = 0;
  std::vector<double> seconds;
  std::int64_t value = 0;
  for (std::int64_t i = 0; i < repetitions; ++i) {
    const Stopwatch watch;
    value = value_at(executor, 24);
    seconds.push_back(watch.seconds());
    peak = std::max(peak, executor.profile().peak_frames);
  }
  return {{"value", value},
          {"activations", executor.profile().activations("fib")},
          {"seconds", seconds},
          {"peak_frames", peak},
          {"nodes", executor.graph().nodes.size()}};
}

// n <= 0 ? 0 : 1 + depth(n - 1): every activation waits for the next.
Json measure_depth(std::int64_t depth) {
  Program program;
  const FunctionRef chain = program.declare("depth", {{kNumber}, {kNumber}});
  program.define(chain, [&](const Values& n) {
    return cond(
        less_equal(n[0], number(0)), [&] { return Values{number(0)}; },
        [&] { return Values{test::call_one(chain, {n[0] - 1}) + 1}; });
  });
  TaggedExecutor executor =
      executor_of(program.build(), "depth", {.max_frames = depth + 10});
  const Stopwatch watch;
  const std::int64_t value = value_at(executor, depth);
  return {{"value", value},
          {"seconds", watch.seconds()},
          {"peak_frames", executor.profile().peak_frames}};
}

}  // namespace

void measure_recursion(const WorkerOptions& options) {
  const std::int64_t repetitions = options.integer("repetitions");
  const int threads = static_cast<int>(options.integer("threads"));
  Json fibonacci;
  for (const int workers : {1, threads}) {
    fibonacci[std::to_string(workers)] =
        measure_fibonacci(repetitions, workers);
  }
  fmt::print("{}\n", Json{{"fibonacci", fibonacci},
                          {"depth", measure_depth(options.integer("depth"))}}
                         .dump());
}

}  // namespace weft::bench
