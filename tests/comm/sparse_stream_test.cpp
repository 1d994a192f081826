#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "tests/support/errors.h"

#include "weft/base/philox.h"
#include "weft/comm/sparse/stream.h"
#include "weft/comm/sparse/stream_sum.h"
#include "weft/comm/sparse/support.h"

namespace weft::sparse_stream_test {
namespace {

using Indices = std::vector<std::uint32_t>;
using Values = std::vector<float>;

Stream sparse(std::uint64_t size, const Indices& indices,
              const Values& values) {
  return Stream::of<std::uint32_t, float>(size, indices, values);
}

// `count` items of the value 1, `stride` apart.
Stream ones(std::uint64_t size, std::uint32_t count, std::uint32_t first,
            std::uint32_t stride) {
  Indices indices(count);
  for (std::uint32_t i = 0; i < count; ++i) indices[i] = first + i * stride;
  return sparse(size, indices, Values(count, 1));
}

Values vector_of(const Stream& stream) {
  Values values(stream.type().size);
  stream.copy_to(std::span(values));
  return values;
}

Indices indices_of(const Stream& stream) {
  const auto indices = stream.indices<std::uint32_t>();
  return {indices.begin(), indices.end()};
}

Values values_of(const Stream& stream) {
  const auto values = stream.values<float>();
  return {values.begin(), values.end()};
}

// About `density` of the elements, small integers of either sign.
Stream random_stream(std::uint64_t size, double density, std::uint32_t seed) {
  const RandomStream random{seed, 0, 0};
  Indices indices;
  Values values;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (uniform_from(random.word(2 * i)) >= density) continue;
    indices.push_back(i);
    values.push_back(static_cast<float>(random.word(2 * i + 1) % 17) - 8);
  }
  return sparse(size, indices, values);
}

TEST(Stream, IsSparseExactlyWhileThatIsSmaller) {
  // 49 * 8 < 100 * 4, 50 * 8 is not.
  EXPECT_FALSE(ones(100, 49, 0, 2).is_dense());
  EXPECT_TRUE(ones(100, 50, 0, 2).is_dense());
  const StreamType wide{DType::kF64, 99};
  EXPECT_FALSE(wide.is_dense_at(65));
  EXPECT_TRUE(wide.is_dense_at(66));  // two thirds
  Values alternating(100);
  for (std::size_t i = 0; i < 100; i += 2) alternating[i] = 1;
  EXPECT_EQ(vector_of(ones(100, 50, 0, 2)), alternating);
}

TEST(Stream, HasNoLargerMessageThanTheSmallerRepresentation) {
  for (const std::uint32_t count : {0u, 1u, 7u, 49u, 50u, 100u}) {
    const Stream stream = ones(100, count, 0, 1);
    EXPECT_LE(stream.message().size(),
              Stream::kHeaderBytes + std::min(8u * count, 400u));
    EXPECT_LE(stream.message().size(), stream.type().most_bytes(count));
  }
}

TEST(Stream, IndicesAreAsWideAsTheSizeNeeds) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 33;
  const std::vector<std::uint64_t> indices = {0, 5, kSize - 1};
  const Values values = {1, 2, 3};
  const Stream wide = Stream::of<std::uint64_t, float>(kSize, indices, values);
  wide.check();
  EXPECT_EQ(wide.message().size(), Stream::kHeaderBytes + 3 * 12);
  const auto parts = split(wide, Partitions::even(kSize, 4));
  EXPECT_EQ(parts[3].type().index_bytes(), 4u);
  EXPECT_EQ(indices_of(parts[3]), Indices{(1u << 31) - 1});
  const Stream again = concatenate(wide.type(), parts);
  EXPECT_TRUE(std::ranges::equal(again.message(), wide.message()));
  const Stream twice = sum(wide.copy(), wide.copy());
  EXPECT_EQ(values_of(twice), (Values{2, 4, 6}));
}

TEST(Stream, DoublesAfterAnOddNumberOfIndicesAreAligned) {
  const std::vector<double> values = {0.1, 0.2, 0.3};
  const Indices indices = {1, 2, 9};
  const Stream stream = Stream::of<std::uint32_t, double>(10, indices, values);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stream.values<double>().data()) %
                alignof(double),
            0u);
  std::vector<double> all(10);
  stream.copy_to(std::span(all));
  EXPECT_EQ(all, (std::vector<double>{0, .1, .2, 0, 0, 0, 0, 0, 0, .3}));
}

TEST(StreamSum, HandCase) {
  const Stream a = sparse(8, {1, 5}, {2, -1});
  const Stream b = sparse(8, {1}, {3});
  const Stream c = sum(a.copy(), b.copy());
  EXPECT_EQ(indices_of(c), (Indices{1, 5}));
  EXPECT_EQ(values_of(c), (Values{5, -1}));
  // {1:2, 5:-1} and {1:3, 6:4} may make 4 pairs, which are no smaller than 8
  // values.
  const Stream d = sum(a.copy(), sparse(8, {1, 6}, {3, 4}));
  EXPECT_TRUE(d.is_dense());
  EXPECT_EQ(values_of(d), (Values{0, 5, 0, 0, 0, -1, 4, 0}));
  // In a longer vector it stays sparse.
  const Stream e = sum(sparse(16, {1, 5}, {2, -1}), sparse(16, {1, 6}, {3, 4}));
  EXPECT_EQ(indices_of(e), (Indices{1, 5, 6}));
  EXPECT_EQ(values_of(e), (Values{5, -1, 4}));
}

TEST(StreamSum, TheUpperBoundDecidesWhatBecomesDense) {
  EXPECT_FALSE(sum(ones(100, 24, 0, 2), ones(100, 25, 1, 2)).is_dense());
  EXPECT_TRUE(sum(ones(100, 25, 0, 2), ones(100, 25, 1, 2)).is_dense());
  // Even where the union would be small.
  EXPECT_TRUE(sum(ones(100, 25, 0, 2), ones(100, 25, 0, 2)).is_dense());
}

TEST(StreamSum, WhatCancelsStays) {
  const Stream zero =
      sum(sparse(100, {3, 7}, {1, 2}), sparse(100, {3, 8}, {-1, 2}));
  EXPECT_EQ(indices_of(zero), (Indices{3, 7, 8}));
  EXPECT_EQ(values_of(zero), (Values{0, 2, 2}));
}

TEST(StreamSum, JoinsRangesThatFollowOneAnother) {
  const Stream low = ones(100, 5, 10, 1);
  const Stream high = ones(100, 6, 15, 1);
  const Stream ordered = sum(low.copy(), high.copy());
  const Stream swapped = sum(high.copy(), low.copy());
  EXPECT_TRUE(std::ranges::equal(ordered.message(), swapped.message()));
  EXPECT_TRUE(
      std::ranges::equal(ordered.message(), ones(100, 11, 10, 1).message()));
}

TEST(StreamSum, KeepsInfinitiesNansAndTheSignOfZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Stream result =
      sum(sparse(100, {1, 3, 5, 9}, {kInfinity, NAN, -0.f, 1}),
          sparse(100, {2, 4, 9}, {-kInfinity, 1, 1}));
  const Values values = values_of(result);
  ASSERT_EQ(values.size(), 6u);
  EXPECT_EQ(values[0], kInfinity);
  EXPECT_EQ(values[1], -kInfinity);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], 1);
  EXPECT_TRUE(std::signbit(values[4]));
  EXPECT_EQ(values[5], 2);
}

TEST(StreamSum, EqualsTheDenseSumWhateverTheRepresentations) {
  for (const std::uint64_t size : {1, 2, 3, 100, 1000}) {
    std::uint32_t seed = 0;
    for (const double p : {0., 0.01, 0.1, 0.3, 0.6, 1.}) {
      for (const double q : {0., 0.02, 0.2, 0.45, 0.9}) {
        const Stream a = random_stream(size, p, ++seed);
        const Stream b = random_stream(size, q, ++seed);
        Values expected = vector_of(a);
        const Values other = vector_of(b);
        for (std::size_t i = 0; i < size; ++i) expected[i] += other[i];
        const Stream result = sum(a.copy(), b.copy());
        result.check();
        EXPECT_EQ(vector_of(result), expected);
      }
    }
  }
}

TEST(Split, HandCase) {
  const auto parts =
      split(sparse(16, {1, 5, 9, 10}, {5, -1, 4, 3}), Partitions::even(16, 2));
  EXPECT_EQ(indices_of(parts[0]), (Indices{1, 5}));
  EXPECT_EQ(indices_of(parts[1]), (Indices{1, 2}));
  EXPECT_EQ(values_of(parts[1]), (Values{4, 3}));
}

TEST(Split, PutTogetherGivesTheSameVector) {
  for (const std::uint64_t size : {0, 1, 5, 6, 7, 100}) {
    for (const double density : {0., 0.1, 0.45, 1.}) {
      for (const int count : {1, 2, 3, 7, 20}) {
        const Stream stream = random_stream(size, density, 3);
        const auto parts = split(stream, Partitions::even(size, count));
        std::uint64_t sizes = 0;
        for (const Stream& part : parts) {
          part.check();
          sizes += part.type().size;
        }
        EXPECT_EQ(sizes, size);
        const Stream again = concatenate(stream.type(), parts);
        again.check();
        EXPECT_EQ(vector_of(again), vector_of(stream));
      }
    }
  }
}

TEST(Split, WhereverItIsCut) {
  const Stream stream = random_stream(100, 0.1, 5);
  for (const auto& ends : std::vector<std::vector<std::uint64_t>>{
           {0, 0, 100}, {100, 100, 100}, {1, 2, 100}, {50, 99, 100}}) {
    const auto parts = split(stream, Partitions(ends));
    for (const Stream& part : parts) part.check();
    EXPECT_EQ(parts[0].type().size, ends[0]);
    EXPECT_EQ(vector_of(concatenate(stream.type(), parts)), vector_of(stream));
  }
}

TEST(Split, EachPartChoosesItsOwnRepresentation) {
  // The first quarter is full, the rest empty.
  const auto parts = split(ones(400, 100, 0, 1), Partitions::even(400, 4));
  EXPECT_TRUE(parts[0].is_dense());
  EXPECT_FALSE(parts[1].is_dense());
  EXPECT_FALSE(concatenate({DType::kF32, 400}, parts).is_dense());
}

// --- Messages from elsewhere ----------------------------------------------

Stream received(std::vector<std::byte> bytes, const StreamType& type) {
  RawBytes room(bytes.size());
  std::ranges::copy(bytes, room.data());
  return Stream::from_message(std::move(room), bytes.size(), type, "rank 3");
}

std::vector<std::byte> message_of(const Stream& stream) {
  return {stream.message().begin(), stream.message().end()};
}

template <class T>
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at,
                            T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
  return bytes;
}

TEST(StreamMessage, ArrivesAsItWas) {
  for (const double density : {0., 0.2, 0.9}) {
    const Stream stream = random_stream(1000, density, 1);
    const Stream again = received(message_of(stream), stream.type());
    again.check();
    EXPECT_TRUE(std::ranges::equal(again.message(), stream.message()));
  }
}

TEST(StreamMessage, DamageIsRefusedWithRankAndField) {
  const Stream stream = ones(100, 3, 10, 5);
  const StreamType type = stream.type();
  const auto good = message_of(stream);
  const auto refused = [&](std::vector<std::byte> bytes, const char* field,
                           const StreamType& wanted) {
    test::expect_error(ErrorCode::kDataLoss,
                       {"rank 3", fmt::format("'{}'", field)},
                       [&] { received(std::move(bytes), wanted); });
  };
  refused(with(good, 0, std::uint32_t{7}), "magic", type);
  refused(good, "dtype", {DType::kF64, 100});
  refused(with(good, 5, std::uint8_t{8}), "index bytes", type);
  refused(with(good, 6, std::uint8_t{1}), "reserved", type);
  refused(good, "size", {DType::kF32, 101});
  refused(with(good, 16, std::uint64_t{101}), "count", type);
  refused(with(good, 16, std::uint64_t{50}), "count", type);
  refused(with(good, 16, std::uint64_t{40}), "indices", type);
  refused(with(good, 24, std::uint32_t{15}), "indices", type);   // twice
  refused(with(good, 24, std::uint32_t{16}), "indices", type);   // unsorted
  refused(with(good, 32, std::uint32_t{100}), "indices", type);  // outside
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(received({good.begin(),
                           good.begin() + static_cast<std::ptrdiff_t>(size)},
                          type),
                 Error)
        << size;
  }
  auto longer = good;
  longer.push_back({});
  refused(longer, "message", type);
}

// --- How sums fill up -----------------------------------------------------

TEST(Fill, RandomSupportsFillAsTheFormulaSays) {
  constexpr std::uint32_t kSize = 20000;
  for (const auto& [density, ranks] :
       {std::pair{0.01, 8}, {0.01, 64}, {0.05, 16}, {0.001, 128}}) {
    const auto items = static_cast<std::uint32_t>(density * kSize);
    std::vector<std::uint32_t> places(kSize);
    double total = 0;
    constexpr int kRounds = 20;
    const RandomStream random{1, static_cast<std::uint32_t>(ranks), items};
    std::uint64_t next = 0;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<bool> is_item(kSize);
      for (int rank = 0; rank < ranks; ++rank) {
        std::iota(places.begin(), places.end(), 0);
        for (std::uint32_t i = 0; i < items; ++i) {  // the first of a shuffle
          std::swap(places[i], places[i + random.word(next++) % (kSize - i)]);
          is_item[places[i]] = true;
        }
      }
      total += static_cast<double>(std::ranges::count(is_item, true));
    }
    const double expected = expected_items(kSize, items, ranks);
    EXPECT_NEAR(total / kRounds / expected, 1, 0.01)
        << density << " of " << ranks;
  }
  EXPECT_NEAR(expected_items(1, 0.01, 8), 0.077, 0.001);
  EXPECT_NEAR(expected_items(1, 0.05, 16), 0.56, 0.001);
  EXPECT_NEAR(expected_items(1, 0.001, 1024), 0.641, 0.001);
}

}  // namespace
}  // namespace weft::sparse_stream_test
