// The guide's recursive function: by the host, staged, and from a file.
#include <gtest/gtest.h>

#include "examples/recursion/factorial.h"
#include "tests/support/temporary_folder.h"

#include "weft/files/exported.h"
#include "weft/runtime/jit/jit.h"

namespace weft::recursion_test {
namespace {

TEST(RecursionExample, IsTheSameByTheHostAndStaged) {
  const auto staged = jit(examples::factorial_and_slope);
  for (const double at : {0.5, 3.0, 5.0, 5.5}) {
    const Value x = Tensor::scalar(at);
    const auto eager = examples::factorial_and_slope(x);
    const auto graph = staged(x);
    EXPECT_EQ(graph.first.tensor().item(), eager.first.tensor().item());
    EXPECT_NEAR(graph.second.tensor().item(), eager.second.tensor().item(),
                1e-9);
  }
  EXPECT_EQ(staged.core().graph_count(), 1u);
}

TEST(RecursionExample, RunsFromAFile) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "slope.safetensors";
  const Value x = Tensor::scalar(5.0);
  export_function(path, *jit(examples::factorial_and_slope).graph(x));
  ExportedFunction function(path);
  const auto results = function.run({Tensor::scalar(5.5)});
  EXPECT_EQ(results[0].item(), 324.84375);
  EXPECT_NEAR(results[1].item(), 570.5625, 1e-9);
}

}  // namespace
}  // namespace weft::recursion_test
