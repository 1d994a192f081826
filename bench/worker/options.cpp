#include "bench/worker/options.h"

#include "weft/base/error.h"

namespace weft::bench {

const std::string& WorkerOptions::text(const std::string& name) const {
  const auto found = values.find(name);
  if (found == values.end()) {
    throw Error(ErrorCode::kInvalidArgument, "weft-bench", "--{} is missing",
                name);
  }
  return found->second;
}

std::int64_t WorkerOptions::integer(const std::string& name) const {
  return std::stoll(text(name));
}

WorkerOptions parse_options(int argc, char** argv) {
  WorkerOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--no-tape") {
      options.no_tape = true;
    } else if (word.starts_with("--") && i + 1 < argc) {
      options.values[word.substr(2)] = argv[++i];
    } else if (options.command.empty()) {
      options.command = word;
    } else {
      options.model = word;
    }
  }
  return options;
}

}  // namespace weft::bench
