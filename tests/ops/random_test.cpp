// Philox against its authors' vectors, and the distributions drawn from it.
#include <algorithm>
#include <limits>

#include "tests/support/exact.h"

#include "weft/base/philox.h"
#include "weft/kernels/simd/philox_blocks.h"

namespace weft::testing::random_test {
namespace {

const Value kKey = i64({2}, {42, 7});

// kat_vectors of Random123, philox4x32-10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, 0),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, ~std::uint64_t{0}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       0x299f31d0a4093822),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, VectorsOfBlocksAreTheSameBlocks) {
  const RandomStream stream{0x0123456789abcdef, 3, 9};
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{0xfffffff0}, std::uint64_t{1} << 40}) {
    std::uint32_t words[kPhiloxWords];
    philox_blocks(stream, first, words);
    for (std::uint64_t i = 0; i < kPhiloxWords; ++i) {
      EXPECT_EQ(words[i], stream.word(first * 4 + i));
    }
  }
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  explicit Moments(const Value& value) {
    const auto count = static_cast<double>(value.tensor().size());
    for (std::int64_t i = 0; i < value.tensor().size(); ++i) {
      const double x = value.tensor().item(i);
      mean += x / count;
      variance += x * x / count;
      least = std::min(least, x);
      most = std::max(most, x);
    }
    variance -= mean * mean;
  }
};

constexpr Dim kDraws = 200000;

TEST(Random, UniformFillsTheUnitInterval) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const Moments m(uniform(kKey, {kDraws}, 1, dtype));
    const double step = dtype == DType::kBF16 ? 0x1p-9 : 0;  // bins' middle
    EXPECT_NEAR(m.mean + step, 0.5, 0.003);
    EXPECT_NEAR(m.variance, 1.0 / 12, 0.001);
    EXPECT_GE(m.least, 0);
    EXPECT_LT(m.most, 1);
  }
}

TEST(Random, NormalHasUnitVariance) {
  const Moments m(normal(kKey, {kDraws}, 2));
  EXPECT_NEAR(m.mean, 0, 0.01);
  EXPECT_NEAR(m.variance, 1, 0.02);
  EXPECT_LT(m.most, 6.7);
}

TEST(Random, BernoulliHitsItsRate) {
  EXPECT_NEAR(Moments(bernoulli(kKey, {kDraws}, 3, 0.3)).mean, 0.3, 0.005);
  EXPECT_EQ(Moments(bernoulli(kKey, {100}, 3, 0)).most, 0);
  EXPECT_EQ(Moments(bernoulli(kKey, {100}, 3, 1)).least, 1);
}

TEST(Random, DropoutKeepsTheMean) {
  const Value ones = full({DType::kF32, {kDraws}}, 1);
  const Moments m(dropout(ones, kKey, 4, 0.25));
  EXPECT_NEAR(m.mean, 1, 0.01);
  EXPECT_FLOAT_EQ(static_cast<float>(m.most), 1 / 0.75f);
}

TEST(Random, APermutationHitsEveryPlaceOnce) {
  const Value order = permutation(kKey, 1000, 5);
  const auto span = order.tensor().span<std::int64_t>();
  std::vector<std::int64_t> sorted(span.begin(), span.end());
  EXPECT_FALSE(std::is_sorted(sorted.begin(), sorted.end()));
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(sorted[i], static_cast<std::int64_t>(i));
  }
}

// Pearson's statistic of draws of 0, 1, … against how probable each is.
double chi_square(const std::vector<std::int64_t>& drawn,
                  const std::vector<double>& probabilities) {
  std::vector<double> counts(probabilities.size());
  for (const std::int64_t i : drawn)
    counts.at(static_cast<std::size_t>(i)) += 1;
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected =
        probabilities[i] * static_cast<double>(drawn.size());
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

std::vector<std::int64_t> integers_of(const Value& value) {
  const auto span = value.tensor().span<std::int64_t>();
  return {span.begin(), span.end()};
}

// What the statistic exceeds once in a thousand, for 3, 9 and 99 degrees of
// freedom.
constexpr double kChi3 = 16.27;
constexpr double kChi9 = 27.88;
constexpr double kChi99 = 148.2;

TEST(Random, CategoricalFollowsSoftmax) {
  const std::vector<double> probabilities{0.1, 0.2, 0.3, 0.4};
  const Value row = f32(
      {4}, {std::log(0.1f), std::log(0.2f), std::log(0.3f), std::log(0.4f)});
  const Value logits = broadcast_to(row + 5.0, {kDraws, 4});
  const auto drawn = integers_of(categorical(kKey, logits, 6));
  EXPECT_LT(chi_square(drawn, probabilities), kChi3);
  EXPECT_GT(chi_square(drawn, {0.11, 0.2, 0.29, 0.4}), kChi3);
}

TEST(Random, CategoricalNeverDrawsTheImpossible) {
  const float none = -std::numeric_limits<float>::infinity();
  const Value logits = broadcast_to(f32({3}, {none, 0, none}), {1000, 3});
  EXPECT_TENSOR(categorical(kKey, logits, 6), full({DType::kI64, {1000}}, 1));
}

TEST(Random, GumbelHasItsMoments) {
  const Moments m(gumbel(kKey, {kDraws}, 7));
  EXPECT_NEAR(m.mean, 0.5772, 0.01);
  EXPECT_NEAR(m.variance, 1.6449, 0.03);
}

TEST(Random, RandintIsUniform) {
  const std::vector<double> tenths(10, 0.1);
  const auto drawn = integers_of(randint(kKey, {kDraws}, 8, 0, 10));
  EXPECT_LT(chi_square(drawn, tenths), kChi9);
  const Moments m(randint(kKey, {kDraws}, 8, -5, 6, DType::kI32));
  EXPECT_EQ(m.least, -5);
  EXPECT_EQ(m.most, 5);
  EXPECT_NEAR(m.mean, 0, 0.05);
}

// A product of 32 bits would favour every third number of such a range.
TEST(Random, RandintIsUniformOverWideRanges) {
  constexpr std::int64_t kTenth = std::int64_t{800} << 50;
  std::vector<std::int64_t> tenths;
  for (const std::int64_t x :
       integers_of(randint(kKey, {kDraws}, 9, 0, 10 * kTenth))) {
    tenths.push_back(x / kTenth);
  }
  EXPECT_LT(chi_square(tenths, std::vector<double>(10, 0.1)), kChi9);
  std::vector<std::int64_t> low_digits;
  for (const std::int64_t x :
       integers_of(randint(kKey, {kDraws}, 9, 0, 10 * kTenth))) {
    low_digits.push_back(x % 10);
  }
  EXPECT_LT(chi_square(low_digits, std::vector<double>(10, 0.1)), kChi9);
}

TEST(Random, SplitKeysDrawIndependently) {
  const Value keys = split_key(kKey, 2);
  const auto drawn_by = [&](std::int64_t i) {
    const Value key = reshape(slice_axis(keys, 0, i, i + 1), {2});
    return integers_of(randint(key, {kDraws}, 1, 0, 10));
  };
  const auto parents = integers_of(randint(kKey, {kDraws}, 1, 0, 10));
  const auto first = drawn_by(0);
  const auto second = drawn_by(1);
  const std::vector<double> hundredths(100, 0.01);
  const auto pairs = [](const auto& a, const auto& b) {
    std::vector<std::int64_t> joined;
    for (std::size_t i = 0; i < a.size(); ++i)
      joined.push_back(10 * a[i] + b[i]);
    return joined;
  };
  EXPECT_LT(chi_square(pairs(first, second), hundredths), kChi99);
  EXPECT_LT(chi_square(pairs(parents, first), hundredths), kChi99);
  EXPECT_LT(chi_square(pairs(parents, second), hundredths), kChi99);
  EXPECT_GT(chi_square(pairs(first, first), hundredths), kChi99);
}

TEST(Random, SplitKeysAreManyAndTheSame) {
  const auto keys = integers_of(split_key(kKey, 1000));
  std::vector<std::int64_t> seeds;
  for (std::size_t i = 0; i < keys.size(); i += 2) seeds.push_back(keys[i]);
  std::ranges::sort(seeds);
  EXPECT_EQ(std::ranges::adjacent_find(seeds), seeds.end());
  // The first ones do not depend on how many there are.
  EXPECT_TENSOR(slice_axis(split_key(kKey, 5), 0, 0, 2), split_key(kKey, 2));
}

TEST(Random, ManyKeysDrawWhatEachDrawsAlone) {
  // More words than one group has, and a rest.
  const Value keys = reshape(split_key(kKey, 6), {2, 3, 2});
  const auto expect_alone = [&](const auto& draw) {
    const Value all = draw(keys);
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) {
        const auto at = [&](const Value& x) {
          Value one = slice_axis(slice_axis(x, 0, i, i + 1), 1, j, j + 1);
          return reshape(one, Shape(x.shape().last(x.shape().rank() - 2)));
        };
        EXPECT_TENSOR(at(all), draw(at(keys)));
      }
    }
  };
  expect_alone([](const Value& k) { return uniform(k, {5, 29}, 1); });
  expect_alone([](const Value& k) { return normal(k, {131}, 2); });
  expect_alone([](const Value& k) { return bernoulli(k, {77}, 3, 0.3); });
  expect_alone([](const Value& k) { return gumbel(k, {3}, 4); });
  expect_alone([](const Value& k) { return randint(k, {100}, 5, -3, 9); });
  expect_alone([](const Value& k) { return permutation(k, 50, 6); });
  expect_alone([](const Value& k) { return split_key(k, 4); });
  EXPECT_EQ(uniform(reshape(keys, {6, 2}), {0, 3}, 1).shape(),
            (Shape{6, 0, 3}));
}

TEST(Random, SeedStepAndStreamAllMatter) {
  const Value base = uniform(kKey, {8}, 1);
  EXPECT_TENSOR(uniform(i64({2}, {42, 7}), {8}, 1), base);
  EXPECT_NE(contents(uniform(i64({2}, {43, 7}), {8}, 1)), contents(base));
  EXPECT_NE(contents(uniform(i64({2}, {42, 8}), {8}, 1)), contents(base));
  EXPECT_NE(contents(uniform(kKey, {8}, 2)), contents(base));
}

TEST(Random, RefusesWrongKeysAndRates) {
  EXPECT_NE(message_of([] {
              uniform(i64({1}, {1}), {3}, 0);
            }).find("keys must be i64[…, 2], got i64[1]"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              bernoulli(kKey, {3}, 0, 1.5);
            }).find("probability = 1.5 is not a probability"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              randint(kKey, {3}, 0, 5, 5);
            }).find("there is no integer in [5, 5)"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::testing::random_test
