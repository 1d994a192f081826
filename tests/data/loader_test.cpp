#include "weft/data/loader.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "tests/support/errors.h"
#include "tests/support/heap_use.h"
#include "tests/support/sample_files.h"
#include "tests/support/secret_keys.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"

namespace weft::loader_test {
namespace {

using test::expect_error;

// Row i is an image whose pixels are all i, labelled i.
class Numbered final : public Dataset {
 public:
  explicit Numbered(std::int64_t size, std::int64_t broken = -1)
      : broken_(broken) {
    name_ = "numbered";
    size_ = size;
    features_ = {{"image", {DType::kU8, {8, 8, 1}}},
                 {"label", {DType::kI32, {}}}};
    pixel_scale_ = {{0}, {1}};
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == broken_) {
        throw Error(ErrorCode::kDataLoss, "numbered", "row {}", broken_);
      }
      // Nonzero everywhere, so that padding shows.
      std::memset(row_of(batch[0], i), static_cast<int>(1 + rows[i] % 250), 64);
      batch[1].as<std::int32_t>()[i] = static_cast<std::int32_t>(rows[i]);
    }
  }

 private:
  std::int64_t broken_;
};

DatasetRef numbered(std::int64_t size) {
  return std::make_shared<Numbered>(size);
}

std::vector<std::int32_t> labels(const Batch& batch) {
  const auto span = batch.tensors[1].span<std::int32_t>();
  return {span.begin(), span.end()};
}

// The next `count` batches, copied.
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

bool equal(const std::vector<std::vector<Tensor>>& a,
           const std::vector<std::vector<Tensor>>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return std::equal(x.begin(), x.end(), y.begin(), y.end(), identical);
      });
}

const LoaderOptions kTraining{
    .batch = 8, .shuffle = true, .seed = 5, .augment = {"crop", "flip"}};

LoaderOptions with_prefetch(int prefetch) {
  LoaderOptions options = kTraining;
  options.prefetch = prefetch;
  return options;
}

TEST(Loader, KeepsTheOrderWithoutShuffleAndTheLastPart) {
  Loader loader(numbered(10), {.batch = 4});
  EXPECT_EQ(loader.batches_per_epoch(), 3);
  EXPECT_EQ(loader.examples_per_epoch(), 10);
  EXPECT_EQ(labels(loader.next()), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(labels(loader.next()), (std::vector<std::int32_t>{4, 5, 6, 7}));
  const Batch& last = loader.next();
  EXPECT_EQ(last.size, 2);
  EXPECT_EQ(last.tensors[0].shape(), Shape({2, 8, 8, 1}));
  EXPECT_EQ(labels(last), (std::vector<std::int32_t>{8, 9}));
  EXPECT_EQ(last.position, (BatchPosition{0, 2}));
  EXPECT_EQ(labels(loader.next()), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(loader.position(), (BatchPosition{1, 1}));
}

// Rows that fill up a batch by chance are of it themselves: what would go wrong
// with them goes wrong anyhow.
TEST(Loader, FillsUpWithAnExampleOfTheBatch) {
  LoaderOptions options;
  options.poisson = {.expected = 20, .key = test::key_of(3)};
  Loader loader(numbered(200), options);
  std::int64_t padding = 0;
  for (int i = 0; i < 20; ++i) {
    const Batch& batch = loader.next();
    const std::vector<std::int32_t> all = labels(batch);
    for (auto row = static_cast<std::size_t>(batch.size); row < all.size();
         ++row) {
      EXPECT_EQ(all[row], all[0]);
    }
    padding += batch.padding;
  }
  EXPECT_GT(padding, 0);
}

TEST(Loader, DropsTheLastPartOnRequest) {
  Loader loader(numbered(10), {.batch = 4, .drop_last = true});
  EXPECT_EQ(loader.batches_per_epoch(), 2);
  EXPECT_EQ(loader.examples_per_epoch(), 8);
  take(loader, 2);
  EXPECT_EQ(loader.position(), (BatchPosition{1, 0}));
}

TEST(Loader, ConvertsImagesAndKeepsLabels) {
  Loader loader(numbered(3), {.batch = 8});
  EXPECT_EQ(loader.inputs()[0].type, (TensorType{DType::kF32, {3, 8, 8, 1}}));
  EXPECT_EQ(loader.inputs()[1].type, (TensorType{DType::kI32, {3}}));
  EXPECT_EQ(loader.next().tensors[0].item(64), 2.0);
}

TEST(Loader, VisitsEveryExampleOnceInAnOrderOfItsOwnPerEpoch) {
  Loader loader(numbered(50), {.batch = 7, .shuffle = true, .seed = 1});
  std::vector<std::vector<std::int32_t>> epochs;
  for (int epoch = 0; epoch < 2; ++epoch) {
    auto& order = epochs.emplace_back();
    for (int i = 0; i < loader.batches_per_epoch(); ++i) {
      const auto part = labels(loader.next());
      order.insert(order.end(), part.begin(), part.end());
    }
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int32_t> all(50);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted, all);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(Loader, GivesTheSameBitsWithAnyPrefetch) {
  Loader plain(numbered(50), with_prefetch(0));
  const auto expected = take(plain, 20);
  for (const int prefetch : {1, 2, 5}) {
    Loader threaded(numbered(50), with_prefetch(prefetch));
    EXPECT_TRUE(equal(take(threaded, 20), expected)) << prefetch;
  }
}

TEST(Loader, DiffersBySeed) {
  Loader a(numbered(50), kTraining);
  LoaderOptions other = kTraining;
  other.seed = 6;
  Loader b(numbered(50), other);
  EXPECT_FALSE(equal(take(a, 3), take(b, 3)));
}

TEST(Loader, ContinuesAtAPositionAsIfNeverInterrupted) {
  Loader whole(numbered(50), kTraining);
  take(whole, 10);
  const BatchPosition position = whole.position();
  EXPECT_EQ(position, (BatchPosition{1, 3}));
  const auto expected = take(whole, 9);

  Loader resumed(numbered(50), kTraining);
  resumed.seek(position);
  EXPECT_TRUE(equal(take(resumed, 9), expected));
  resumed.seek(position);  // also while its thread is running
  EXPECT_TRUE(equal(take(resumed, 9), expected));
}

TEST(Loader, TakesTheEndOfAnEpochForTheStartOfTheNext) {
  Loader loader(numbered(10), {.batch = 5});
  loader.seek({3, 2});
  EXPECT_EQ(loader.position(), (BatchPosition{4, 0}));
  expect_error(ErrorCode::kInvalidArgument, {"loader", "3"}, [&] {
    loader.seek({0, 3});
  });
  expect_error(ErrorCode::kInvalidArgument, {"loader", "-1"}, [&] {
    loader.seek({0, -1});
  });
}

// An example is changed alike in whatever batch it is.
TEST(Loader, AugmentsIndependentlyOfTheBatch) {
  LoaderOptions options = kTraining;
  std::vector<std::vector<float>> images[2];
  for (int run = 0; run < 2; ++run) {
    options.batch = run == 0 ? 50 : 7;
    images[run].resize(50);
    Loader loader(numbered(50), options);
    for (int i = 0; i < loader.batches_per_epoch(); ++i) {
      const Batch& batch = loader.next();
      const auto pixels = batch.tensors[0].span<float>();
      for (std::size_t row = 0; row < static_cast<std::size_t>(batch.size);
           ++row) {
        const auto image = pixels.subspan(row * 64, 64);
        const auto label = static_cast<std::size_t>(labels(batch)[row]);
        images[run][label].assign(image.begin(), image.end());
      }
    }
  }
  EXPECT_EQ(images[0], images[1]);
}

TEST(Loader, AllocatesNothingInTheSteadyState) {
  for (const int prefetch : {0, 2}) {
    Loader loader(numbered(50), with_prefetch(prefetch));
    for (int i = 0; i < 10; ++i) loader.next();
    const std::int64_t blocks = live_bytes();
    const std::int64_t before = test::heap_use().own;
    for (int i = 0; i < 30; ++i) loader.next();
    EXPECT_EQ(test::heap_use().own, before) << prefetch;
    EXPECT_EQ(live_bytes(), blocks) << prefetch;
  }
}

TEST(Loader, KeepsABatchUntilTheNextOneIsTaken) {
  Loader loader(numbered(64), with_prefetch(1));
  for (int i = 0; i < 50; ++i) {
    const Batch& batch = loader.next();
    const auto first = labels(batch);
    // The thread has long filled the other slot by now, or is about to.
    const Tensor copy = batch.tensors[0].clone();
    EXPECT_EQ(labels(batch), first);
    EXPECT_TRUE(identical(copy, batch.tensors[0]));
  }
}

TEST(Loader, HandsOverTheErrorOfItsThread) {
  for (const int prefetch : {0, 3}) {
    Loader loader(std::make_shared<Numbered>(20, 9),
                  {.batch = 4, .prefetch = prefetch});
    take(loader, 2);
    for (int again = 0; again < 2; ++again) {
      expect_error(ErrorCode::kDataLoss, {"numbered", "row 9"},
                   [&] { loader.next(); });
    }
    loader.seek({0, 0});
    EXPECT_EQ(labels(loader.next())[0], 0);
  }
}

TEST(Loader, EndsWhileItsThreadIsAhead) {
  for (int i = 0; i < 20; ++i) {
    Loader loader(numbered(50), with_prefetch(4));
    if (i % 2 == 0) loader.next();
  }
}

TEST(Loader, RefusesWhatMakesNoBatch) {
  expect_error(ErrorCode::kInvalidArgument, {"numbered", "batch of 0"},
               [] { Loader(numbered(5), {.batch = 0}); });
  expect_error(ErrorCode::kInvalidArgument, {"0 examples"},
               [] { Loader(numbered(0), {.batch = 1}); });
  expect_error(ErrorCode::kInvalidArgument, {"too few"},
               [] { Loader(numbered(5), {.batch = 6, .drop_last = true}); });
}

TEST(Loader, RefusesToCropTables) {
  const test::TemporaryFolder folder;
  folder.write("data.csv", "1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n");
  const auto splits = open_data({.name = "csv", .folder = folder.path()});
  expect_error(ErrorCode::kInvalidArgument, {"images"}, [&] {
    Loader(splits.train, {.batch = 2, .augment = {"flip"}});
  });
}

// Whatever the number of workers, their parts put together are the batches of
// one, to the last and short one, augmentation included.
TEST(Loader, ShardsTogetherAreTheWholeBatches) {
  const LoaderOptions whole{
      .batch = 7, .shuffle = true, .seed = 3, .augment = {"crop", "flip"}};
  for (const int ranks : {1, 2, 3, 5}) {
    Loader all(numbered(23), whole);
    std::vector<std::unique_ptr<Loader>> shards;
    for (int rank = 0; rank < ranks; ++rank) {
      LoaderOptions part = whole;
      part.shard = {rank, ranks};
      shards.push_back(std::make_unique<Loader>(numbered(23), part));
      EXPECT_EQ(shards.back()->batches_per_epoch(), all.batches_per_epoch());
      EXPECT_EQ(shards.back()->examples_per_epoch(), 23);
    }
    for (int b = 0; b < 8; ++b) {
      const Batch& batch = all.next();
      EXPECT_EQ(batch.whole_size, batch.size);
      std::int64_t begin = 0;
      for (const auto& shard : shards) {
        const Batch& part = shard->next();
        EXPECT_EQ(part.whole_size, batch.size);
        EXPECT_LE(part.size, shard->inputs()[0].type.shape[0]);
        for (std::size_t f = 0; f < 2; ++f) {
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

TEST(Loader, AShortBatchMayHoldMoreForAWorkerThanAFullOne) {
  Loader loader(numbered(15), {.batch = 8, .shard = {.rank = 2, .ranks = 5}});
  EXPECT_EQ(labels(loader.next()), std::vector<std::int32_t>{3});
  EXPECT_EQ(labels(loader.next()), (std::vector<std::int32_t>{10, 11}));
  EXPECT_EQ(loader.inputs()[0].type.shape[0], 2);
}

TEST(Loader, RefusesMoreWorkersThanExamplesInABatch) {
  expect_error(ErrorCode::kInvalidArgument, {"4 workers", "batch of 3"}, [] {
    Loader(numbered(10), {.batch = 3, .shard = {.rank = 1, .ranks = 4}});
  });
}

}  // namespace
}  // namespace weft::loader_test
