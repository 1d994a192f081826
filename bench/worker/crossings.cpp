// weft-bench crossings: what a value costs that crosses between the two ranks
// of a graph in parts: threads, or processes if mpirun started two.
//
// A loop whose value goes from one rank to the other and back in each
// iteration, beside the same loop on one rank. Prints, on rank 0,
// {"transport": "…", "bytes": n, "crossing": [s, …], "alone": [s, …]}: seconds
// of a crossing, half of what an iteration takes; and of such a half on one
// rank.
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/base/stopwatch.h"
#include "weft/comm/graph/partitioned.h"
#include "weft/comm/transport/launcher.h"
#include "weft/comm/transport/thread.h"
#include "weft/graph/program.h"
#include "weft/ops/ops.h"
#include "weft/place/rank_placer.h"

namespace weft::bench {
namespace {

using Values = std::vector<Value>;

constexpr int kBlocks = 9;
const TensorType kNumber{DType::kI64, {}};

// main(n, x) = x + 2 n, by two functions in turns.
Graph ping_pong(const TensorType& type) {
  Program program;
  const auto add_one = [](const Values& v) { return Values{v[0] + 1}; };
  const FunctionRef ping = program.define("ping", {type}, add_one);
  const FunctionRef pong = program.define("pong", {type}, add_one);
  program.define("main", {kNumber, type}, [&](const Values& v) {
    const Values last = while_loop(
        {Tensor::scalar<std::int64_t>(0), v[1]},
        [&](const Values& s) { return less(s[0], v[0]); },
        [&](const Values& s) {
          return Values{s[0] + 1, call(pong, call(ping, Values{s[1]}))[0]};
        });
    return Values{last[1]};
  });
  return program.build();
}

// Seconds of half an iteration, by block, after one that does not count.
template <class Run>
std::vector<double> time_blocks(std::int64_t steps, const TensorType& type,
                                const Run& run) {
  const std::vector<Tensor> arguments{Tensor::scalar(steps),
                                      Tensor::zeros(type)};
  std::vector<double> seconds;
  for (int block = -1; block < kBlocks; ++block) {
    const Stopwatch watch;
    const std::vector<Tensor> results = run(arguments);
    const double each = watch.seconds() / static_cast<double>(2 * steps);
    if (block >= 0) seconds.push_back(each);
    if (results[0].is_defined() &&
        results[0].item() != static_cast<double>(2 * steps)) {
      throw Error(ErrorCode::kInternal, "crossings", "the loop adds up to {}",
                  results[0].item());
    }
  }
  return seconds;
}

void measure(Transport& transport, std::int64_t steps, const TensorType& type) {
  const Graph graph = ping_pong(type);
  const RankPlacement placement =
      parse_placement("ping=1 *=0", transport.size());
  const std::vector<TensorType> types{kNumber, type};
  TaggedExecutor whole(lower(graph, "main", types, placement), {.workers = 1});
  const auto alone =
      time_blocks(steps, type, [&](const auto& x) { return whole.run(x); });
  Engine engine(transport);
  Communicator all(transport);
  Partitioned parts(graph, "main", types, placement, all, engine);
  const auto crossing =
      time_blocks(steps, type, [&](const auto& x) { return parts.run(x); });
  if (transport.rank() != 0) return;
  fmt::print("{}\n", Json{{"transport", transport.name()},
                          {"bytes", type.bytes()},
                          {"crossing", crossing},
                          {"alone", alone}}
                         .dump());
}

}  // namespace

void measure_crossings(const WorkerOptions& options) {
  const std::int64_t steps = options.integer("steps");
  const TensorType type{DType::kF32, {options.integer("bytes") / 4}};
  if (const auto launched = open_launched_transport()) {
    measure(*launched, steps, type);
    return;
  }
  ThreadWorld world(2);
  world.run([&](Transport& transport) { measure(transport, steps, type); });
}

}  // namespace weft::bench
