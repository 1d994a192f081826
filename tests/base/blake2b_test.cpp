#include "weft/base/libraries/blake2b.h"

#include <gtest/gtest.h>

namespace weft::blake2b_test {
namespace {

std::string of(std::string_view text) {
  return blake2b(
      {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// As Python's hashlib.blake2b(…, digest_size=32) has them.
TEST(Blake2b, KnownDigests) {
  EXPECT_EQ(of(""),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(of("abc"),
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

}  // namespace
}  // namespace weft::blake2b_test
