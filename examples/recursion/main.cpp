// weft-recursion [FOLDER]: a recursive function, run by the host and as one
// static graph, and both graphs in files for `weft inspect` and `weft run`.
#include <filesystem>
#include <fmt/core.h>

#include "examples/recursion/factorial.h"

#include "weft/files/exported.h"
#include "weft/runtime/jit/jit.h"

int main(int argc, char** argv) {
  using namespace weft::examples;
  const std::filesystem::path folder = argc > 1 ? argv[1] : ".";
  const weft::Value x = weft::Tensor::scalar(5.0);

  const auto eager = factorial_and_slope(x);
  fmt::print("by the host: {} with slope {}\n", eager.first.tensor().item(),
             eager.second.tensor().item());

  const auto value = weft::jit(factorial, {.name = "main"});
  const auto both = weft::jit(factorial_and_slope, {.name = "main"});
  const auto staged = both(x);
  fmt::print("as a graph:  {} with slope {}\n", staged.first.tensor().item(),
             staged.second.tensor().item());

  weft::export_function(folder / "factorial.safetensors", *value.graph(x));
  weft::export_function(folder / "slope.safetensors", *both.graph(x));
}
