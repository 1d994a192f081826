// weft-serve: what speaks gRPC, as a program of its own, so that the command
// line needs none of its packages. `weft serve` runs its part "serve", and
// `weft market replica --peers` its part "replica".
#include <fcntl.h>
#include <fmt/core.h>
#include <string_view>
#include <unistd.h>

#include "cli/server/parts.h"

namespace {

// A file or socket that is opened where a standard stream was closed would get
// what is meant for that stream: the log's lines, say.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is taken, which is this one.
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  const std::string_view part = argc > 1 ? argv[1] : "";
  if (part == "serve") return weft::cli::serve_models(argc - 1, argv + 1);
  if (part == "replica") return weft::cli::keep_replica(argc - 1, argv + 1);
  fmt::print(stderr,
             "weft-serve: '{}' is no part of it; weft serve and weft market "
             "replica run it\n",
             part);
  return 2;
}
