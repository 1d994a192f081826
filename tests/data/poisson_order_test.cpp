#include "weft/data/poisson_order.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sys/stat.h>

#include "tests/support/errors.h"
#include "tests/support/secret_keys.h"
#include "tests/support/temporary_folder.h"

namespace weft::poisson_order_test {
namespace {

using test::expect_error;
using test::key_of;

// Sizes are binomial, each example joins as often as it should, and two
// examples do not keep together.
TEST(PoissonOrder, LetsEachExampleJoinOnItsOwn) {
  constexpr std::int64_t kExamples = 1000;
  constexpr std::int64_t kBatches = 4000;
  const PoissonOrder order(kExamples, {.expected = 100, .key = key_of(1)});
  EXPECT_NEAR(order.rate(), 0.1, 1e-9);
  EXPECT_LE(order.rate(), 0.1);
  EXPECT_EQ(order.steps_per_epoch(), 10);
  std::vector<std::int64_t> joined(kExamples);
  std::vector<std::int64_t> rows;
  double sum = 0;
  double squares = 0;
  std::int64_t both = 0;
  for (std::int64_t batch = 0; batch < kBatches; ++batch) {
    order.pick(batch / 10, batch % 10, rows);
    const auto size = static_cast<double>(rows.size());
    sum += size;
    squares += size * size;
    for (const std::int64_t row : rows) ++joined[static_cast<std::size_t>(row)];
    const std::set<std::int64_t> there(rows.begin(), rows.end());
    ASSERT_EQ(there.size(), rows.size());
    both += there.contains(3) && there.contains(4) ? 1 : 0;
  }
  const double mean = sum / kBatches;
  EXPECT_NEAR(mean, 100, 5 * std::sqrt(90.0 / kBatches));
  EXPECT_NEAR(squares / kBatches - mean * mean, 90, 12);
  for (const std::int64_t times : joined) {
    EXPECT_NEAR(static_cast<double>(times), 400, 6 * std::sqrt(360.0));
  }
  EXPECT_NEAR(static_cast<double>(both), 40, 6 * std::sqrt(40.0));
}

// Workers who draw from rows of their own share all of them, each of which
// joins as often as where all draw one batch; and what one draws is its own
// affair.
TEST(PoissonOrder, DealsRowsToWorkers) {
  constexpr std::int64_t kExamples = 1001;
  constexpr int kWorkers = 3;
  constexpr std::int64_t kBatches = 2000;
  std::vector<std::int64_t> joined(kExamples);
  std::vector<std::int64_t> rows;
  const PoissonOrder all(kExamples, {.expected = 100, .key = key_of(1)});
  for (int worker = 0; worker < kWorkers; ++worker) {
    const PoissonSampling sampling{
        .expected = 100,
        .key = key_of(static_cast<std::uint8_t>(worker + 1)),
        .by_row = true};
    const PoissonOrder own(kExamples, sampling, {worker, kWorkers});
    EXPECT_EQ(own.rate(), all.rate());
    EXPECT_EQ(own.steps_per_epoch(), all.steps_per_epoch());
    EXPECT_EQ(own.most_rows(),
              PoissonOrder(kExamples, sampling, {0, kWorkers}).most_rows());
    EXPECT_LT(own.most_rows(), all.most_rows());
    for (std::int64_t batch = 0; batch < kBatches; ++batch) {
      own.pick(0, batch, rows);
      EXPECT_LE(std::ssize(rows), own.most_rows());
      for (const std::int64_t row : rows) {
        ASSERT_EQ(row % kWorkers, worker);
        ASSERT_LT(row, kExamples);
        ++joined[static_cast<std::size_t>(row)];
      }
    }
  }
  const double mean = all.rate() * kBatches;
  for (const std::int64_t times : joined) {
    EXPECT_NEAR(static_cast<double>(times), mean, 6 * std::sqrt(mean));
  }
}

TEST(PoissonOrder, FollowsFromTheKey) {
  const PoissonOrder order(500, {.expected = 50, .key = key_of(1)});
  const PoissonOrder same(500, {.expected = 50, .key = key_of(1)});
  const PoissonOrder other(500, {.expected = 50, .key = key_of(2)});
  std::vector<std::int64_t> a, b, c, d;
  order.pick(3, 4, a);
  same.pick(3, 4, b);
  other.pick(3, 4, c);
  order.pick(4, 4, d);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, d);
}

// Parts of a batch are its examples in a row, none twice and none left out.
TEST(PoissonOrder, CutsBatchesIntoParts) {
  const PoissonOrder whole(2000, {.expected = 200, .key = key_of(5)});
  const PoissonOrder cut(2000,
                         {.expected = 200, .most_rows = 64, .key = key_of(5)});
  EXPECT_EQ(whole.parts(), 1);
  EXPECT_EQ(cut.parts(), 6);  // 200 + 8 (sqrt 200 + 1) rows in 64s
  EXPECT_EQ(cut.parts_per_epoch(), 60);
  for (std::int64_t step = 0; step < 10; ++step) {
    std::vector<std::int64_t> all, joined, part;
    whole.pick(1, step, all);
    for (std::int64_t k = 0; k < cut.parts(); ++k) {
      cut.pick(1, step * cut.parts() + k, part);
      EXPECT_LE(std::ssize(part), 64);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined, all);
  }
}

TEST(PoissonOrder, FillsUpToFewSizes) {
  const PoissonOrder order(60000, {.expected = 256, .key = key_of(1)});
  std::set<std::int64_t> sizes;
  for (std::int64_t rows = 0; rows <= order.most_rows(); ++rows) {
    EXPECT_GE(order.padded(rows), std::max<std::int64_t>(rows, 1));
    sizes.insert(order.padded(rows));
  }
  EXPECT_LE(sizes.size(), 16u);
  for (const std::int64_t expected : {0, 60000, 60001}) {
    expect_error(ErrorCode::kInvalidArgument, {"cannot be drawn"}, [&] {
      PoissonOrder(60000, {.expected = expected, .key = key_of(1)});
    });
  }
}

// The first words of RFC 8439's cipher for a zero key, nonce and counter.
TEST(SecretStream, IsChaCha20) {
  std::array<std::uint32_t, 4> words;
  fill_words(words, SecretKey(), 0);
  EXPECT_EQ(words[0], 0xade0b876u);
  EXPECT_EQ(words[1], 0x903df1a0u);
  EXPECT_NE(drawn_key(), drawn_key());
}

TEST(SecretStream, KeepsKeysForTheirOwner) {
  const test::TemporaryFolder folder;
  const auto path = folder / "key";
  EXPECT_FALSE(read_key(path));
  const SecretKey kept = drawn_key();
  write_key(path, kept);
  EXPECT_EQ(read_key(path), kept);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  // One that is there is never written over.
  expect_error(ErrorCode::kUnavailable, {"key"},
               [&] { write_key(path, kept); });
  ::chmod(path.c_str(), 0644);
  expect_error(ErrorCode::kInvalidArgument, {"others may read"},
               [&] { read_key(path); });
  ::chmod(path.c_str(), 0600);
  std::ofstream(path, std::ios::app) << "x";
  expect_error(ErrorCode::kDataLoss, {"is no key"}, [&] { read_key(path); });
}

}  // namespace
}  // namespace weft::poisson_order_test
