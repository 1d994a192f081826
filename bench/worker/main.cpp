// weft-bench: our side of every race in bench/run.
#include <exception>
#include <fmt/core.h>
#include <string_view>

#include "bench/worker/options.h"

#include "weft/base/error.h"
#include "weft/base/parallel.h"

namespace weft::bench {

namespace {

int run(int argc, char** argv) {
  const WorkerOptions options = parse_options(argc, argv);
  set_thread_count(static_cast<int>(options.integer("threads")));
  if (options.command == "step") {
    race_step(options);
  } else if (options.command == "matmul") {
    race_matmul(options);
  } else if (options.command == "eager-add") {
    race_eager_add(options);
  } else if (options.command == "curve") {
    follow_curve(options);
  } else if (options.command == "sparse-table") {
    make_sparse_table(options);
  } else if (options.command == "blueconnect") {
    make_blueconnect_table(options);
  } else if (options.command == "codec") {
    measure_codec(options);
  } else if (options.command == "drift") {
    measure_drift(options);
  } else if (options.command == "simulate-step") {
    simulate_step(options);
  } else {
    throw Error(ErrorCode::kInvalidArgument, "weft-bench", "no command '{}'",
                options.command)
        .hint(
            "step, matmul, eager-add, curve, sparse-table, "
            "blueconnect, codec, drift, simulate-step");
  }
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  try {
    return weft::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft-bench: {}\n", error.what());
    return 2;
  }
}
