// weft-serve: what speaks gRPC, as a program of its own, so that the command
// line needs none of its packages. `weft serve` runs its part "serve", and
// `weft market replica --peers` its part "replica".
#include <fmt/core.h>
#include <string_view>

#include "cli/server/parts.h"

int main(int argc, char** argv) {
  const std::string_view part = argc > 1 ? argv[1] : "";
  if (part == "serve") return weft::cli::serve_models(argc - 1, argv + 1);
  if (part == "replica") return weft::cli::keep_replica(argc - 1, argv + 1);
  fmt::print(stderr,
             "weft-serve: '{}' is no part of it; weft serve and weft market "
             "replica run it\n",
             part);
  return 2;
}
