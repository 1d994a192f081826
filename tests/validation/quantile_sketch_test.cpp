#include "weft/validation/quantile_sketch.h"

#include <cmath>
#include <gtest/gtest.h>

#include "weft/base/philox.h"

namespace weft::quantile_sketch_test {
namespace {

using validation::QuantileSketch;

// Numbers of [0, 1), whose ranks are themselves.
QuantileSketch sketch_of(std::uint64_t begin, std::uint64_t end) {
  const RandomStream random{.seed = 5};
  QuantileSketch sketch;
  for (std::uint64_t i = begin; i < end; ++i) {
    sketch.add(uniform_from(random.word(i)));
  }
  return sketch;
}

void expect_good(const QuantileSketch& sketch, std::uint64_t count) {
  EXPECT_EQ(sketch.count(), count);
  std::vector<double> shares;
  for (int i = 1; i < 100; ++i) shares.push_back(i / 100.0);
  const std::vector<double> found = sketch.quantiles(shares);
  const std::vector<double> ranks = sketch.ranks(shares);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    EXPECT_NEAR(found[i], shares[i], 0.01);
    EXPECT_NEAR(ranks[i] / static_cast<double>(count), shares[i], 0.01);
  }
}

TEST(QuantileSketch, IsExactForFewNumbers) {
  QuantileSketch sketch;
  for (const double value : {3.0, 1.0, 2.0, 5.0, 4.0}) sketch.add(value);
  EXPECT_EQ(sketch.quantiles({0, 0.2, 0.5, 1}),
            (std::vector<double>{1, 1, 3, 5}));
  EXPECT_EQ(sketch.ranks({0, 2, 9}), (std::vector<double>{0, 2, 5}));
}

TEST(QuantileSketch, KeepsRanksOfMillions) {
  constexpr std::uint64_t kCount = 3'000'000;
  const QuantileSketch whole = sketch_of(0, kCount);
  expect_good(whole, kCount);
  // Also of parts that differ in size, some of which have sampled.
  QuantileSketch merged;
  for (const auto& [begin, end] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 10},
           {10, 2'000'000},
           {2'000'000, 2'000'500},
           {2'000'500, kCount}}) {
    merged.merge(sketch_of(begin, end));
  }
  expect_good(merged, kCount);
  // With itself, every number comes twice.
  merged.merge(merged);
  expect_good(merged, 2 * kCount);
  validation::StateWriter out;
  merged.write(out);
  const std::string bytes = out.take();
  EXPECT_LT(bytes.size(), 20'000u);
  validation::StateReader in(bytes, "test");
  expect_good(QuantileSketch::read(in), 2 * kCount);
}

TEST(QuantileSketch, CountsNumbersThatComeOften) {
  QuantileSketch sketch;
  sketch.add(1, 900'000'007);
  sketch.add(2, 99'999'993);
  sketch.add(3, 1);
  EXPECT_EQ(sketch.count(), 1'000'000'001u);
  EXPECT_EQ(sketch.quantiles({0.1, 0.89, 0.91}),
            (std::vector<double>{1, 1, 2}));
  EXPECT_NEAR(sketch.ranks({1})[0], 900'000'007, 1e6);
}

}  // namespace
}  // namespace weft::quantile_sketch_test
