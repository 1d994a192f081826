#include "bench/worker/serve.h"

#include <chrono>
#include <cstdio>
#include <fmt/core.h>
#include <fstream>
#include <iostream>

namespace weft::bench {

void serve(Handlers handlers, std::uint64_t baseline_bytes) {
  handlers["memory"] = [=] {
    return Json{{"peak_rss_bytes", status_bytes("VmHWM")},
                {"baseline_rss_bytes", baseline_bytes}};
  };
  for (std::string request; std::getline(std::cin, request);) {
    if (request == "quit") return;
    const auto found = handlers.find(request);
    const Json answer = found == handlers.end()
                            ? Json{{"error", "no request " + request}}
                            : found->second();
    fmt::print("{}\n", answer.dump());
    std::fflush(stdout);
  }
}

Json timed(const std::function<std::int64_t()>& block) {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t work = block();
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  return {{"seconds", elapsed.count()}, {"work", work}};
}

std::uint64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) {
      return 1024 * std::stoull(line.substr(field.size() + 1));
    }
  }
  return 0;
}

}  // namespace weft::bench
