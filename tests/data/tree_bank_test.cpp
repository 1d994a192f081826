#include "weft/data/tree_bank.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/registry.h"
#include "weft/data/sentence_bank.h"

namespace weft::tree_bank_test {
namespace {

using test::expect_error;
using testing::ElementsAre;

constexpr const char* kLovely = "(3 (2 It) (4 (2 's) (4 lovely)))";

ParseTree one(std::string_view line) { return parse_trees(line, "t", 5).at(0); }

TEST(ParseTree, ChildrenStandBeforeParents) {
  const ParseTree tree = one(kLovely);
  std::vector<std::int32_t> labels, left, right;
  std::vector<std::string> words;
  for (const auto& node : tree.nodes) {
    labels.push_back(node.label);
    left.push_back(node.left);
    right.push_back(node.right);
    words.push_back(node.word);
  }
  EXPECT_THAT(labels, ElementsAre(2, 2, 4, 4, 3));
  EXPECT_THAT(left, ElementsAre(-1, -1, -1, 1, 0));
  EXPECT_THAT(right, ElementsAre(-1, -1, -1, 2, 3));
  EXPECT_THAT(words, ElementsAre("It", "'s", "lovely", "", ""));
}

TEST(ParseTree, OnlySpacesAndBracketsSeparate) {
  // U+00A0, which occurs in the treebank's words.
  EXPECT_EQ(one("(0 1\xC2\xA0"
                "1/2)")
                .nodes[0]
                .word,
            "1\xC2\xA0"
            "1/2");
  EXPECT_EQ(parse_trees("\n(1 a)\r\n\n  (2 b)  ", "t", 5).size(), 2u);
  EXPECT_TRUE(parse_trees("", "t", 5).empty());
}

TEST(ParseTree, DamageIsNamedByLineAndColumn) {
  const auto refuses = [](const char* text, const char* where,
                          const char* what) {
    expect_error(ErrorCode::kDataLoss, {where, what},
                 [&] { parse_trees(text, "t", 5); });
  };
  refuses("(0 a)\n(3 (2 It)", "t:2:10", "ends inside");
  refuses("(5 a)", "t:1:2", "a label from 0 to 4");
  refuses("(-1 a)", "t:1:2", "a label from 0 to 4");
  refuses("(x a)", "t:1:2", "a label from 0 to 4");
  refuses("(99999999999 a)", "t:1:2", "a label");
  refuses("(1a)", "t:1:3", "behind the label");
  refuses("(1 )", "t:1:4", "one word or two children");
  refuses("(1 a b)", "t:1:6", "one word or two children");
  refuses("(1 (1 a))", "t:1:9", "one word or two children");
  refuses("(1 (1 a) (1 b) (1 c))", "t:1:20", "one word or two children");
  refuses("(1 (1 a) b)", "t:1:10", "one word or two children");
  refuses("(1 a) (1 b)", "t:1:7", "something follows");
  refuses("a", "t:1:1", "expected '('");
  refuses(")", "t:1:1", "expected '('");
  const std::string deep(1 << 20, '(');
  refuses(deep.c_str(), "t:1:2", "a label");
}

TEST(ParseTree, ATreeHasABound) {
  std::string deep;
  for (int i = 0; i < 1 << 17; ++i) deep += "(1 ";
  expect_error(ErrorCode::kDataLoss, {"more than 65536 nodes"},
               [&] { parse_trees(deep, "t", 5); });
}

TEST(TreeBank, TreesBecomeTables) {
  const auto trees = parse_trees(std::string(kLovely) + "\n(1 lovely)", "t", 5);
  const TreeBank bank(trees, 6);
  EXPECT_THAT(bank.words(), ElementsAre("<unk>", "lovely", "'s", "It"));
  auto more = trees;
  more.push_back(one("(0 (1 new) (2 It))"));
  const DatasetRef data = bank.dataset(more, "trees", {"a", "b"});
  ASSERT_EQ(data->size(), 3);
  std::vector<Tensor> batch;
  std::vector<TensorView> views;
  for (const Feature& feature : data->features()) {
    Shape shape{3};
    for (const Dim dim : feature.type.shape) shape.push_back(dim);
    batch.push_back(Tensor::empty({feature.type.dtype, shape}));
    views.push_back(batch.back().view());
  }
  const std::vector<std::int64_t> rows{2, 0, 1};
  data->read(rows, views);
  const auto row = [&](std::size_t feature, std::size_t i) {
    const auto all = batch[feature].span<std::int32_t>();
    const std::size_t size = all.size() / 3;
    return std::vector<std::int32_t>(all.begin() + i * size,
                                     all.begin() + (i + 1) * size);
  };
  EXPECT_THAT(data->words(), ElementsAre("<unk>", "lovely", "'s", "It"));
  EXPECT_THAT(row(0, 0), ElementsAre(0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(row(1, 0), ElementsAre(0, 2, 1, -1, -1, -1));
  // The root, then "'s lovely" as its right child, then that one's.
  EXPECT_THAT(row(0, 1), ElementsAre(0, 4, 0, 2, 1, 0, 2, 0, 3, 0, 0, 0));
  EXPECT_THAT(row(1, 1), ElementsAre(3, 4, 4, 2, 2, -1));
  EXPECT_THAT(row(0, 2), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(row(1, 2), ElementsAre(1, -1, -1, -1, -1, -1));
}

// What stands in row `i` of a batch's feature.
std::vector<std::int32_t> row_of(const Tensor& feature, std::size_t i) {
  const auto all = feature.span<std::int32_t>();
  const std::size_t size =
      all.size() / static_cast<std::size_t>(feature.shape()[0]);
  return {all.begin() + static_cast<std::ptrdiff_t>(i * size),
          all.begin() + static_cast<std::ptrdiff_t>((i + 1) * size)};
}

TEST(SentenceBank, NodesBecomeRowsOfWords) {
  using Examples = SentenceBank::Examples;
  const auto trees = parse_trees(std::string(kLovely) + "\n(1 lovely)", "t", 5);
  const SentenceBank bank(trees, 3);
  EXPECT_THAT(bank.words(),
              ElementsAre("<pad>", "<unk>", "lovely", "'s", "It"));
  const std::vector<ParseTree> read = {trees[0], one("(0 (1 new) (2 It))")};
  const DatasetRef sentences =
      bank.dataset(read, Examples::kSentences, "s", {"a"});
  ASSERT_EQ(sentences->size(), 2);
  EXPECT_EQ(sentences->features()[0].varying, std::vector<int>{0});
  const DatasetRef phrases = bank.dataset(read, Examples::kPhrases, "s", {"a"});
  ASSERT_EQ(phrases->size(), 8);

  const auto read_rows = [](const Dataset& data,
                            const std::vector<std::int64_t>& rows) {
    const auto count = static_cast<Dim>(rows.size());
    // What was there before must not be taken for words.
    const Tensor words = Tensor::empty({DType::kI32, {count, 3}});
    std::ranges::fill(words.span<std::int32_t>(), 7);
    const Tensor labels = Tensor::empty({DType::kI32, {count}});
    data.read(rows, std::vector{words.view(), labels.view()});
    return std::pair{words, labels};
  };
  const auto [whole, kinds] = read_rows(*sentences, {1, 0});
  EXPECT_THAT(row_of(whole, 0), ElementsAre(1, 4, 0));
  EXPECT_THAT(row_of(whole, 1), ElementsAre(4, 3, 2));
  EXPECT_THAT(kinds.span<std::int32_t>(), ElementsAre(0, 3));
  // The nodes in the order in which they end.
  const auto [parts, labels] = read_rows(*phrases, {1, 3, 4, 7});
  EXPECT_THAT(row_of(parts, 0), ElementsAre(3, 0, 0));
  EXPECT_THAT(row_of(parts, 1), ElementsAre(3, 2, 0));
  EXPECT_THAT(row_of(parts, 2), ElementsAre(4, 3, 2));
  EXPECT_THAT(row_of(parts, 3), ElementsAre(1, 4, 0));
  EXPECT_THAT(labels.span<std::int32_t>(), ElementsAre(2, 4, 3, 0));
  std::int64_t size = 0;
  phrases->measure(3, {&size, 1});
  EXPECT_EQ(size, 2);
}

TEST(TreeBank, IsReadFromItsFolder) {
  const test::TemporaryFolder folder;
  for (const char* part : {"train.txt", "dev.txt", "test.txt"}) {
    std::ofstream(folder.path() / part) << kLovely << "\n";
  }
  const DatasetDef& sst = dataset_registry().get("sst");
  EXPECT_TRUE(sst.is_in(folder.path()));
  const auto open = [&](const char* examples) {
    return sst.open({.name = "sst",
                     .folder = folder.path(),
                     .options = {{"examples", std::string(examples)}}});
  };
  const DatasetSplits splits = open("trees");
  EXPECT_EQ(splits.train->size(), 1);
  EXPECT_EQ(splits.valid->features()[0].type.shape, (Shape{5, 2}));
  EXPECT_EQ(splits.test->classes().size(), 5u);
  EXPECT_EQ(open("sentences").train->size(), 1);
  const DatasetSplits phrases = open("phrases");
  EXPECT_EQ(phrases.train->size(), 5);
  EXPECT_EQ(phrases.test->size(), 1);
  EXPECT_EQ(phrases.test->features()[0].type.shape, (Shape{3}));
}

}  // namespace
}  // namespace weft::tree_bank_test
