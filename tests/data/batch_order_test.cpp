#include "weft/data/batch_order.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/heap_use.h"

#include "weft/data/loader.h"

namespace weft::batch_order_test {
namespace {

// Row i is a sentence of 1 + 7 i % 20 words, all i, and a label of half as
// many.
class Sentences final : public Dataset {
 public:
  explicit Sentences(std::int64_t size) {
    name_ = "sentences";
    size_ = size;
    features_ = {{"words", {DType::kI32, {20}}, {0}},
                 {"half", {DType::kI32, {2, 10}}, {1}},
                 {"number", {DType::kI32, {}}}};
  }

  static std::int64_t length(std::int64_t row) { return 1 + 7 * row % 20; }

  void measure(std::int64_t row, std::span<std::int64_t> sizes) const override {
    sizes[0] = length(row);
    sizes[1] = (length(row) + 1) / 2;
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    for (std::size_t f = 0; f < 2; ++f) {
      std::fill_n(batch[f].as<std::int32_t>(), batch[f].size(), -1);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto number = static_cast<std::int32_t>(rows[i]);
      std::fill_n(reinterpret_cast<std::int32_t*>(row_of(batch[0], i)),
                  length(rows[i]), number);
      batch[2].as<std::int32_t>()[i] = number;
    }
  }
};

DatasetRef sentences(std::int64_t size) {
  return std::make_shared<Sentences>(size);
}

std::vector<std::int64_t> epoch_of(BatchOrder& order, std::int64_t epoch) {
  std::vector<std::int64_t> all;
  std::vector<std::int64_t> rows;
  for (std::int64_t b = 0; b < order.batches_per_epoch(); ++b) {
    order.pick(epoch, b, 0, order.batch_size(b), rows);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

TEST(BatchOrder, VisitsEveryExampleOnce) {
  const Sentences data(203);
  BatchOrder order(data, {.batch = 8, .shuffle = true, .seed = 3});
  auto first = epoch_of(order, 0);
  EXPECT_NE(first, epoch_of(order, 1));
  EXPECT_EQ(first, epoch_of(order, 0));
  EXPECT_EQ(order.batch_size(25), 3);
  std::ranges::sort(first);
  std::vector<std::int64_t> all(203);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(first, all);
}

TEST(BatchOrder, PutsLikeSizesTogether) {
  const Sentences data(400);
  BatchOrder order(data, {.batch = 8, .shuffle = true, .seed = 3});
  std::vector<std::int64_t> rows;
  std::int64_t padded = 0;
  std::int64_t real = 0;
  std::vector<std::int64_t> longest;
  for (std::int64_t b = 0; b < order.batches_per_epoch(); ++b) {
    order.pick(0, b, 0, 8, rows);
    longest.push_back(0);
    for (const std::int64_t row : rows) {
      longest.back() = std::max(longest.back(), Sentences::length(row));
      real += Sentences::length(row);
    }
    padded += 8 * longest.back();
  }
  EXPECT_LT(10 * padded, 12 * real);
  // The batches do not come by their lengths.
  EXPECT_FALSE(std::ranges::is_sorted(longest));
}

TEST(BatchOrder, LeavesOutOtherExamplesInEachEpoch) {
  const Sentences data(30);
  BatchOrder order(data,
                   {.batch = 8, .shuffle = true, .drop_last = true, .seed = 1});
  std::set<std::int64_t> seen;
  for (std::int64_t epoch = 0; epoch < 12; ++epoch) {
    const auto rows = epoch_of(order, epoch);
    EXPECT_EQ(rows.size(), 24u);
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 24u);
    seen.insert(rows.begin(), rows.end());
  }
  EXPECT_EQ(seen.size(), 30u);
}

TEST(BatchOrder, KeepsTheOrderOfTheDataWithoutShuffle) {
  const Sentences data(10);
  BatchOrder order(data, {.batch = 4});
  std::vector<std::int64_t> all(10);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(epoch_of(order, 5), all);
}

// 30 examples in blocks of 1 to 5.
class Blocks final : public Dataset {
 public:
  explicit Blocks(std::int64_t mixed) {
    size_ = 30;
    features_ = {{"number", {DType::kI32, {}}}};
    blocks_ = {1, 6, 8, 12, 13, 18, 20, 21, 24, 30};
    mixed_blocks_ = mixed;
  }
  std::int64_t block_of(std::int64_t row) const {
    return std::ranges::upper_bound(blocks_, row) - blocks_.begin();
  }
  void read(std::span<const std::int64_t>,
            std::span<const TensorView>) const override {}
};

TEST(BatchOrder, ReadsFewBlocksAtATime) {
  for (const std::int64_t mixed : {1, 2, 4, 10, 99}) {
    const Blocks data(mixed);
    BatchOrder order(data, {.batch = 4, .shuffle = true, .seed = 2});
    auto rows = epoch_of(order, 0);
    EXPECT_NE(rows, epoch_of(order, 1));
    // Once the order has left the first of a group of blocks, none of it comes
    // again: at no time are more than `mixed` blocks begun and not over.
    std::set<std::int64_t> begun;
    std::map<std::int64_t, std::int64_t> left;
    for (const std::int64_t row : rows) ++left[data.block_of(row)];
    for (const std::int64_t row : rows) {
      const std::int64_t block = data.block_of(row);
      begun.insert(block);
      EXPECT_LE(begun.size(), static_cast<std::size_t>(mixed));
      if (--left[block] == 0) begun.erase(block);
    }
    // A worker's part of a batch is a part of the whole one's.
    std::vector<std::int64_t> part;
    order.pick(0, 3, 1, 3, part);
    EXPECT_EQ(part, std::vector(rows.begin() + 13, rows.begin() + 15));
    std::ranges::sort(rows);
    std::vector<std::int64_t> all(30);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(rows, all);
  }
}

TEST(BatchOrder, KnowsTheBlocksOfAPart) {
  const DatasetSplits splits =
      hold_out_fifth(std::make_shared<Blocks>(2));  // every fifth from 0
  EXPECT_EQ(splits.test->blocks(),
            (std::vector<std::int64_t>{1, 2, 2, 3, 3, 4, 4, 5, 5, 6}));
  BatchOrder order(*splits.test, {.batch = 4, .shuffle = true});
  const auto rows = epoch_of(order, 0);
  EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 6u);
}

TEST(RoundedSize, HasFewValuesThatAreNotMuchLarger) {
  std::set<std::int64_t> values;
  for (std::int64_t size = 1; size <= 1000; ++size) {
    const std::int64_t rounded = rounded_size(size, 1000);
    EXPECT_GE(rounded, size);
    EXPECT_LE(rounded, std::max(size + 1, size * 5 / 4));
    values.insert(rounded);
  }
  EXPECT_LE(values.size(), 31u);
  EXPECT_EQ(rounded_size(1000, 1000), 1000);
}

constexpr LoaderOptions kRagged{.batch = 8, .shuffle = true, .seed = 5};

TEST(RaggedLoader, PadsToTheRoundedSizeOfTheLongest) {
  Loader loader(sentences(60), kRagged);
  EXPECT_EQ(loader.inputs()[0].type, (TensorType{DType::kI32, {8, 20}}));
  EXPECT_EQ(loader.inputs()[0].varying, std::vector<int>{1});
  EXPECT_EQ(loader.inputs()[1].varying, std::vector<int>{2});
  EXPECT_TRUE(loader.inputs()[2].varying.empty());
  for (int b = 0; b < 8; ++b) {
    const Batch& batch = loader.next();
    const auto numbers = batch.tensors[2].span<std::int32_t>();
    std::int64_t longest = 0;
    for (const std::int32_t row : numbers) {
      longest = std::max(longest, Sentences::length(row));
    }
    const Dim width = rounded_size(longest, 20);
    ASSERT_EQ(batch.tensors[0].shape(), Shape({batch.size, width}));
    EXPECT_EQ(batch.tensors[1].shape(),
              Shape({batch.size, 2, rounded_size((longest + 1) / 2, 10)}));
    for (std::int64_t i = 0; i < batch.size; ++i) {
      const std::int32_t row = numbers[static_cast<std::size_t>(i)];
      for (std::int64_t t = 0; t < width; ++t) {
        EXPECT_EQ(batch.tensors[0].item(i * width + t),
                  t < Sentences::length(row) ? row : -1);
      }
    }
  }
}

std::vector<std::vector<Tensor>> take(Loader& loader, int count) {
  std::vector<std::vector<Tensor>> batches;
  for (int i = 0; i < count; ++i) {
    auto& copy = batches.emplace_back();
    for (const auto& tensor : loader.next().tensors) {
      copy.push_back(tensor.clone());
    }
  }
  return batches;
}

TEST(RaggedLoader, ContinuesAtAPositionAsIfNeverInterrupted) {
  Loader whole(sentences(60), kRagged);
  take(whole, 11);
  const BatchPosition position = whole.position();
  const auto expected = take(whole, 9);
  LoaderOptions plain = kRagged;
  plain.prefetch = 0;
  Loader resumed(sentences(60), plain);
  resumed.seek(position);
  const auto again = take(resumed, 9);
  for (std::size_t b = 0; b < 9; ++b) {
    EXPECT_TRUE(std::ranges::equal(expected[b], again[b], identical));
  }
}

TEST(RaggedLoader, ShardsTogetherAreTheWholeBatches) {
  for (const int ranks : {2, 3}) {
    Loader all(sentences(23), kRagged);
    std::vector<std::unique_ptr<Loader>> shards;
    for (int rank = 0; rank < ranks; ++rank) {
      LoaderOptions part = kRagged;
      part.shard = {rank, ranks};
      shards.push_back(std::make_unique<Loader>(sentences(23), part));
    }
    for (int b = 0; b < 6; ++b) {
      const Batch& batch = all.next();
      std::int64_t begin = 0;
      for (const auto& shard : shards) {
        const Batch& part = shard->next();
        for (std::size_t f = 0; f < 3; ++f) {
          EXPECT_TRUE(
              identical(part.tensors[f],
                        batch.tensors[f].slice(begin, begin + part.size)));
        }
        begin += part.size;
      }
      EXPECT_EQ(begin, batch.size);
    }
  }
}

TEST(RaggedLoader, AllocatesNothingInTheSteadyState) {
  Loader loader(sentences(60), kRagged);
  for (int i = 0; i < 10; ++i) loader.next();
  const std::int64_t before = test::heap_use().own;
  for (int i = 0; i < 30; ++i) loader.next();
  EXPECT_EQ(test::heap_use().own, before);
}

TEST(RaggedLoader, ReadsAPartOfTheData) {
  Loader loader(subset(sentences(60), {0, 3, 6}), {.batch = 3});
  // Rows 0, 3 and 6 have 1, 2 and 3 words.
  EXPECT_EQ(loader.next().tensors[0].shape(), Shape({3, 3}));
}

}  // namespace
}  // namespace weft::batch_order_test
