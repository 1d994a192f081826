#include "weft/base/libraries/sha256.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace weft::sha256_test {
namespace {

// The examples of FIPS 180-2, appendix B.
constexpr std::string_view kAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kEmpty =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256, AgreesWithTheStandard) {
  EXPECT_EQ(sha256(test::bytes_of("abc")), kAbc);
  EXPECT_EQ(sha256({}), kEmpty);
}

TEST(Sha256, ReadsFiles) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(sha256_of_file(folder.write("abc", "abc")), kAbc);
  EXPECT_EQ(sha256_of_file(folder.write("empty", "")), kEmpty);
}

}  // namespace
}  // namespace weft::sha256_test
