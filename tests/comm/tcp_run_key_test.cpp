#include <filesystem>
#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/comm/tcp/run_key.h"
namespace weft::tcp_run_key_test {
namespace {

namespace fs = std::filesystem;

using tcp::find_run_key;
using tcp::RunKey;
using test::EnvironmentValue;
using test::expect_error;

const std::string kText(64, 'k');

bool are_equal(const RunKey& a, const RunKey& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

// A key file that only its owner may read.
fs::path write_key(const test::TemporaryFolder& folder,
                   const std::string& text) {
  const fs::path path = folder.write("run.key", text);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  return path;
}

TEST(TcpRunKey, IsMadeFromAText) {
  EXPECT_TRUE(are_equal(RunKey(kText, "test"), RunKey(kText + "\n", "test")));
  EXPECT_FALSE(are_equal(RunKey(kText, "test"), RunKey(kText + "k", "test")));
}

TEST(TcpRunKey, RefusesAKeyThatCouldBeGuessed) {
  expect_error(ErrorCode::kInvalidArgument,
               {"WEFT_KEY: the key has 31 bytes, and needs 32",
                "hint: openssl rand -hex 32"},
               [] { RunKey(std::string(31, 'k'), "WEFT_KEY"); });
  // Space at its ends is nothing to guess.
  expect_error(ErrorCode::kInvalidArgument, {"has 0 bytes"},
               [] { RunKey(std::string(64, ' '), "WEFT_KEY"); });
}

TEST(TcpRunKey, ComesFromAFileOrTheEnvironment) {
  const test::TemporaryFolder folder;
  const fs::path file = write_key(folder, kText + "\n");
  {
    const EnvironmentValue none("WEFT_KEY", nullptr);
    EXPECT_FALSE(find_run_key(""));
    EXPECT_TRUE(are_equal(*find_run_key(file), RunKey(kText, "test")));
  }
  const std::string other(40, 'e');
  const EnvironmentValue set("WEFT_KEY", other.c_str());
  EXPECT_TRUE(are_equal(*find_run_key(""), RunKey(other, "test")));
  EXPECT_TRUE(are_equal(*find_run_key(file), RunKey(kText, "test")));
}

TEST(TcpRunKey, RefusesAFileThatOthersMayRead) {
  const test::TemporaryFolder folder;
  const fs::path file = write_key(folder, kText);
  for (const fs::perms others : {fs::perms::group_read, fs::perms::others_read,
                                 fs::perms::group_write}) {
    fs::permissions(file, fs::perms::owner_read | others);
    expect_error(ErrorCode::kInvalidArgument,
                 {file.string(), "others than its owner", "chmod 600"},
                 [&] { find_run_key(file); });
  }
  expect_error(ErrorCode::kUnavailable, {"none.key"},
               [&] { find_run_key(folder / "none.key"); });
}

}  // namespace
}  // namespace weft::tcp_run_key_test
