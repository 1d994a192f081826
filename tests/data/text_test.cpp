#include "weft/data/text.h"

#include <gtest/gtest.h>

#include "tests/support/batches.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"
#include "weft/data/loader.h"

namespace weft::text_test {
namespace {

using test::expect_error;
using Names = std::vector<std::string>;
using Numbers = std::vector<std::int32_t>;

TEST(Vocabulary, OrdersByFrequencyThenText) {
  const auto vocabulary = Vocabulary::build("b a c b\n a b\n", "t");
  // b three times; <eos> and a twice each, '<' before 'a'; c once.
  EXPECT_EQ(vocabulary.words(), (Names{"b", "<eos>", "a", "c"}));
  EXPECT_EQ(vocabulary.find("a"), 2);
  EXPECT_EQ(vocabulary.find("z"), -1);
}

TEST(Vocabulary, EndsEveryLineOnce) {
  const auto vocabulary = Vocabulary::build("a\n", "t");
  const Numbers one{vocabulary.find("a"), vocabulary.find("<eos>")};
  EXPECT_EQ(vocabulary.encode("a\n", "t"), one);
  EXPECT_EQ(vocabulary.encode(" a\r\n", "t"), one);
  EXPECT_EQ(vocabulary.encode("a", "t"), one);
  EXPECT_EQ(vocabulary.encode("", "t"), Numbers{});
  EXPECT_EQ(vocabulary.encode("\n\n", "t"), (Numbers{one[1], one[1]}));
}

TEST(Vocabulary, MapsUnknownWordsOrNamesTheirLine) {
  const auto open = Vocabulary::build("a <unk>\n", "t");
  EXPECT_EQ(open.encode("new", "t")[0], open.find("<unk>"));
  const auto closed = Vocabulary::build("a\n", "t");
  expect_error(ErrorCode::kDataLoss, {"test.txt:2", "'new'"},
               [&] { closed.encode("a\nnew\n", "test.txt"); });
}

TEST(Vocabulary, NumbersWordsByTheirPlaces) {
  const Vocabulary words({"a", "b", "a", "c"});
  EXPECT_EQ(words.find("a"), 0);
  EXPECT_EQ(words.find("c"), 3);
}

TEST(Vocabulary, RefusesBinaryFilesAndEmptyOnes) {
  expect_error(ErrorCode::kDataLoss, {"t", "byte 2"},
               [] { Vocabulary::build(std::string_view("a \0b", 4), "t"); });
  expect_error(ErrorCode::kDataLoss, {"t", "no words"},
               [] { Vocabulary::build("", "t"); });
}

// Two streams of 0 … 6 and 7 … 13, in pieces of three.
DatasetRef streams() {
  Numbers tokens(15);
  for (int i = 0; i < 15; ++i) tokens[static_cast<std::size_t>(i)] = i;
  return stream_dataset(tokens, {}, 2, 3, "t");
}

TEST(StreamDataset, LaysOutContiguousStreams) {
  const auto data = streams();
  EXPECT_EQ(data->size(), 4);
  const auto batch = test::read_rows(*data, {0, 1, 2, 3});
  EXPECT_TRUE(identical(batch[0],
                        Tensor::of<std::int32_t>(
                            {4, 3}, {0, 1, 2, 7, 8, 9, 3, 4, 5, 10, 11, 12})));
  EXPECT_TRUE(identical(batch[1],
                        Tensor::of<std::int32_t>(
                            {4, 3}, {1, 2, 3, 8, 9, 10, 4, 5, 6, 11, 12, 13})));
}

TEST(StreamDataset, ContinuesEachStreamFromBatchToBatch) {
  Loader loader(streams(), {.batch = 2});
  EXPECT_EQ(loader.batches_per_epoch(), 2);
  EXPECT_TRUE(identical(loader.next().tensors[0],
                        Tensor::of<std::int32_t>({2, 3}, {0, 1, 2, 7, 8, 9})));
  EXPECT_TRUE(
      identical(loader.next().tensors[0],
                Tensor::of<std::int32_t>({2, 3}, {3, 4, 5, 10, 11, 12})));
}

TEST(StreamDataset, RefusesOtherBatchesAndShuffling) {
  expect_error(ErrorCode::kInvalidArgument, {"2 streams", "not 3"},
               [] { Loader(streams(), {.batch = 3}); });
  expect_error(ErrorCode::kInvalidArgument, {"shuffled"},
               [] { Loader(streams(), {.batch = 2, .shuffle = true}); });
}

TEST(StreamDataset, RefusesATextThatIsTooShort) {
  expect_error(ErrorCode::kInvalidArgument, {"t", "too few"}, [] {
    stream_dataset({1, 2, 3}, {}, 2, 1, "t");
  });
  expect_error(ErrorCode::kInvalidArgument, {"too few"},
               [] { stream_dataset({}, {}, 2, 1, "t"); });
}

TEST(TextReader, OpensThreeParts) {
  const test::TemporaryFolder folder;
  folder.write("ptb.train.txt", "a b c a b a <unk>\nb c\n");
  folder.write("ptb.valid.txt", "a b c\n");
  folder.write("ptb.test.txt", "c b z\n");
  const auto splits = open_data(
      {.name = "ptb", .folder = folder.path(), .batch = 1, .steps = 2});
  EXPECT_EQ(splits.train->classes().size(), 5u);
  EXPECT_EQ(splits.train->size(), 5);
  EXPECT_EQ(splits.test->size(), 1);
  ASSERT_NE(splits.valid, nullptr);
  EXPECT_EQ(splits.valid->classes(), splits.train->classes());
}

TEST(TinyShakespeareReader, ReadsCharactersInThreeParts) {
  const test::TemporaryFolder folder;
  // Nine in ten are to train on: 18 characters, one and one.
  folder.write("input.txt", "to be\nor\nnot to bebo");
  const DataRequest request{.name = "tinyshakespeare",
                            .folder = folder.path(),
                            .batch = 1,
                            .steps = 1};
  // The others have none that follows.
  expect_error(ErrorCode::kInvalidArgument, {"too few"},
               [&] { open_data(request); });
  std::string text;
  for (int i = 0; i < 10; ++i) text += "to be\n";
  folder.write("input.txt", text);
  const auto splits = open_data(request);
  EXPECT_EQ(splits.train->classes().size(), 6u);
  EXPECT_EQ(splits.train->size(), 53);
  EXPECT_EQ(splits.valid->size(), 2);
  EXPECT_EQ(splits.test->size(), 2);
  folder.write("input.txt", text + "x");
  const auto more = open_data(request);
  // What only the held-out part has is one further word.
  EXPECT_EQ(more.train->classes().size(), 7u);
  EXPECT_EQ(more.train->classes().back(), kUnknownWord);
}

TEST(CharactersReader, TakesAFileOrTheOnlyOneOfAFolder) {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 10; ++i) text += "to be\n";
  folder.write("poem.txt", text);
  for (const auto& place : {folder.path(), folder / "poem.txt"}) {
    const auto splits = open_data(
        {.name = "characters", .folder = place, .batch = 1, .steps = 1});
    EXPECT_EQ(splits.train->size(), 53);
  }
  folder.write("other.txt", text);
  EXPECT_THROW(open_data({.name = "characters", .folder = folder.path()}),
               Error);
}

}  // namespace
}  // namespace weft::text_test
