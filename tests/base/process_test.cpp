#include "weft/base/process.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::process_test {
namespace {

TEST(RunProcess, ReturnsExitCodeAndErrors) {
  const auto result =
      run_process({"sh", "-c", "echo unseen; echo \"$1\" >&2; exit 3", "sh",
                   "two words; $HOME"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.errors, "two words; $HOME");
}

TEST(RunProcess, KeepsTheEndOfLongErrors) {
  const auto result =
      run_process({"sh", "-c", "yes | head -c 100000 >&2; echo last >&2"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_LE(result.errors.size(), 4096u);
  EXPECT_TRUE(result.errors.ends_with("last"));
}

TEST(RunProcess, ReportsTheSignal) {
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
}

TEST(RunProcess, NamesAProgramThatIsNotThere) {
  test::expect_error(ErrorCode::kUnavailable, {"weft-no-such-program"},
                     [] { run_process({"weft-no-such-program"}); });
}

}  // namespace
}  // namespace weft::process_test
