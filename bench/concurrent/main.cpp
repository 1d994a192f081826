// weft-concurrent-bench: queues, counters, transactions and waits that many
// threads share, for bench/run concurrent.
#include <exception>
#include <fmt/core.h>

#include "bench/concurrent/command.h"

int main(int argc, char** argv) {
  try {
    const auto options = weft::bench::parse_options(argc, argv);
    weft::concurrent_commands().get(options.command).run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft-concurrent-bench: {}\n", error.what());
    return 2;
  }
}
