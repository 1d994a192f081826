// Normals by vectors are those of the scalar function, in every bit.
#include "weft/kernels/simd/normals.h"

#include <algorithm>
#include <bit>
#include <gtest/gtest.h>
#include <vector>

#include "weft/base/philox.h"

namespace weft::normals_test {
namespace {

void expect_scalar_bits(const std::vector<std::uint32_t>& words) {
  std::vector<float> drawn(words.size());
  normals(words.data(), drawn.data(), words.size());
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto pair = normal_from(words[i], words[i + 1]);
    for (std::size_t n = 0; n < 2; ++n) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(drawn[i + n]),
                std::bit_cast<std::uint32_t>(pair[n]))
          << words[i] << " " << words[i + 1] << " " << n;
    }
  }
}

TEST(Normals, AreThoseOfTheScalarFunction) {
  std::vector<std::uint32_t> words(1 << 20);
  const RandomStream random{7, 0, 0};
  for (std::size_t i = 0; i < words.size(); i += 4) {
    const auto block = random.block(i / 4);
    std::copy(block.begin(), block.end(),
              words.begin() + static_cast<std::ptrdiff_t>(i));
  }
  expect_scalar_bits(words);
}

// The radius is nearest to 0 and farthest from it, and one of sine and cosine
// is all but 0.
TEST(Normals, AreThoseOfTheScalarFunctionAtTheEnds) {
  std::vector<std::uint32_t> ends;
  for (std::uint32_t eighth = 0; eighth < 8; ++eighth) {
    for (std::uint32_t near = 0; near < 4; ++near) {
      ends.push_back((eighth << 29) + near);
      ends.push_back((eighth << 29) - near);
    }
  }
  std::vector<std::uint32_t> words;
  for (const std::uint32_t a : ends) {
    for (const std::uint32_t b : ends) {
      words.push_back(a);
      words.push_back(b);
    }
  }
  expect_scalar_bits(words);
}

}  // namespace
}  // namespace weft::normals_test
