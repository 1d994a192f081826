// The commands of weft-concurrent-bench. Each is a file of commands/ that
// registers itself:
//
//   void register_concurrent_NAME(ConcurrentCommandRegistry& registry) {
//     registry.add({"name", [](const bench::WorkerOptions& options) {…}});
//   }
//
// A command prints one line of JSON, or serves requests (worker/serve.h).
#pragma once

#include <string>

#include "bench/worker/options.h"

#include "weft/base/registry.h"

namespace weft {

struct ConcurrentCommand {
  std::string name;
  void (*run)(const bench::WorkerOptions& options);
};

using ConcurrentCommandRegistry = Registry<ConcurrentCommand>;

const ConcurrentCommandRegistry& concurrent_commands();

}  // namespace weft
