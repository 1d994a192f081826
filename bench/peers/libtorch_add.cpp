// LibTorch's side of the eager race: c = a + b, a new tensor each time, as a
// C++ user writes it. Protocol: bench/README.md.
//
// Usage: libtorch_add --size N --steps N --threads N [--no-tape]
//
// --no-tape runs in InferenceMode, where no tape could ever be kept; without
// it the tensors are plain ones that need no gradient.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <torch/torch.h>

namespace {

struct Options {
  long size = 16;
  long steps = 100'000;
  int threads = 2;
  bool no_tape = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--no-tape") options.no_tape = true;
    if (i + 1 == argc) break;
    if (flag == "--size") options.size = std::stol(argv[i + 1]);
    if (flag == "--steps") options.steps = std::stol(argv[i + 1]);
    if (flag == "--threads") options.threads = std::stoi(argv[i + 1]);
  }
  return options;
}

long status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) {
      return 1024 * std::stol(line.substr(field.size() + 1));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const long baseline_bytes = status_bytes("VmRSS");
  at::set_num_threads(options.threads);
  std::optional<c10::InferenceMode> inference;
  if (options.no_tape) inference.emplace();

  // a[i] = i / 8, b[i] = 1: exact in f32.
  const at::Tensor a = torch::arange(options.size, torch::kFloat32) / 8;
  const at::Tensor b = torch::ones({options.size});
  at::Tensor c;
  for (std::string request; std::getline(std::cin, request);) {
    if (request == "quit") break;
    if (request == "run") {
      const auto start = std::chrono::steady_clock::now();
      for (long i = 0; i < options.steps; ++i) c = a + b;
      const std::chrono::duration<double> elapsed =
          std::chrono::steady_clock::now() - start;
      std::printf("{\"seconds\": %.9f, \"work\": %ld}\n", elapsed.count(),
                  options.steps);
    } else if (request == "check") {
      c = a + b;
      std::printf("{\"values\": [");
      for (long i = 0; i < std::min(5L, options.size); ++i) {
        std::printf("%s%.9g", i ? ", " : "", c[i].item<float>());
      }
      std::printf("]}\n");
    } else if (request == "memory") {
      std::printf("{\"peak_rss_bytes\": %ld, \"baseline_rss_bytes\": %ld}\n",
                  status_bytes("VmHWM"), baseline_bytes);
    } else {
      std::printf("{\"error\": \"no request %s\"}\n", request.c_str());
    }
    std::fflush(stdout);
  }
}
