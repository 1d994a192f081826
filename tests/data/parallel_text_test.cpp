#include "weft/data/parallel_text.h"

#include <gtest/gtest.h>

#include "tests/support/batches.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"
#include "weft/data/loader.h"

namespace weft::parallel_text_test {
namespace {

using test::expect_error;
using Names = std::vector<std::string>;
using Numbers = std::vector<std::int32_t>;

TEST(TranslationWords, BeginWithTheSpecialOnesAndLeaveOutTheRare) {
  EXPECT_EQ(translation_words("b a b\na c\n", "t", 2),
            (Names{"<pad>", "<bos>", "<eos>", "<unk>", "a", "b"}));
  EXPECT_EQ(translation_words("x <unk> x <pad>", "t", 1),
            (Names{"<pad>", "<bos>", "<eos>", "<unk>", "x"}));
}

TEST(TranslationWords, RefuseBinaryFilesAndEmptyOnes) {
  expect_error(ErrorCode::kDataLoss, {"t", "byte 2"},
               [] { translation_words(std::string_view("a \0b", 4), "t", 1); });
  expect_error(ErrorCode::kDataLoss, {"t", "no words"},
               [] { translation_words("\n \n", "t", 1); });
}

TEST(EncodeSentence, EndsItAndKnowsUnknownWords) {
  const Vocabulary words(translation_words("ja nein", "t", 1));
  EXPECT_EQ(encode_sentence(words, " nein\tja  was\r"), (Numbers{5, 4, 3, 2}));
  EXPECT_EQ(encode_sentence(words, ""), (Numbers{2}));
  // The words that mean something to the model mean nothing in a text.
  EXPECT_EQ(encode_sentence(words, "<pad> <eos> <unk>"), (Numbers{3, 3, 3, 2}));
}

TEST(ParallelText, PadsPairs) {
  const Vocabulary source(translation_words("a b c", "s", 1));
  const Vocabulary target(translation_words("x y", "t", 1));
  ParallelText text(source, "a b c\nb\n", target, "x\ny y", "s", "t");
  EXPECT_EQ(text.longest_source(), 4);
  EXPECT_EQ(text.longest_target(), 4);
  const DatasetRef data = std::move(text).dataset("pairs", 5, 4);
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->words(), source.words());
  EXPECT_EQ(data->classes(), target.words());
  const auto batch = test::read_rows(*data, {1, 0});
  EXPECT_TRUE(identical(batch[0], Tensor::of<std::int32_t>(
                                      {2, 5}, {5, 2, 0, 0, 0, 4, 5, 6, 2, 0})));
  EXPECT_TRUE(identical(
      batch[1], Tensor::of<std::int32_t>({2, 4}, {1, 5, 5, 2, 1, 4, 2, 0})));
  std::int64_t sizes[2];
  data->measure(1, sizes);
  EXPECT_EQ(sizes[0], 2);
  EXPECT_EQ(sizes[1], 4);
}

TEST(ParallelText, RefusesTextsThatAreNotParallel) {
  const Vocabulary words(translation_words("a", "s", 1));
  expect_error(ErrorCode::kDataLoss, {"t.en", "1 lines", "s.de has 2"}, [&] {
    ParallelText(words, "a\na\n", words, "a\n", "s.de", "t.en");
  });
  expect_error(ErrorCode::kDataLoss, {"s.de", "no lines"},
               [&] { ParallelText(words, "", words, "", "s.de", "t.en"); });
}

TEST(ParallelTextReader, OpensThePartsThatThereAre) {
  const test::TemporaryFolder folder;
  folder.write("train.source", "a b a\nb\n");
  folder.write("train.target", "x x\ny\n");
  folder.write("test.source", "a c d e f\n");
  folder.write("test.target", "x\n");
  const DataRequest request{.name = "parallel-text", .folder = folder.path()};
  const auto splits = open_data(request);
  // Once is too seldom for c and y.
  EXPECT_EQ(splits.train->words().size(), 6u);
  EXPECT_EQ(splits.train->classes(),
            (Names{"<pad>", "<bos>", "<eos>", "<unk>", "x"}));
  EXPECT_EQ(splits.test->classes(), splits.train->classes());
  EXPECT_EQ(splits.valid, nullptr);
  // The longest of all parts.
  EXPECT_EQ(splits.train->features()[0].type.shape, Shape({6}));
  folder.write("valid.source", "a\n");
  expect_error(ErrorCode::kUnavailable, {"valid.target"},
               [&] { open_data(request); });
}

TEST(ParallelTextReader, KnowsTheFilesOfMulti30k) {
  const test::TemporaryFolder folder;
  for (const char* part : {"train", "val", "test_2016_flickr"}) {
    for (const char* language : {"de", "en"}) {
      folder.write(fmt::format("{}.lc.norm.tok.{}", part, language),
                   "a a .\nb b .\n");
    }
  }
  const auto splits = open_data({.name = "multi30k", .folder = folder.path()});
  EXPECT_EQ(splits.valid->size(), 2);
  EXPECT_EQ(splits.train->name(), "multi30k");
  Loader loader(splits.train, {.batch = 2, .shuffle = true});
  EXPECT_EQ(loader.next().tensors[1].shape(), Shape({2, 5}));
}

}  // namespace
}  // namespace weft::parallel_text_test
