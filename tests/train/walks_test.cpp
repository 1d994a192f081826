// Random walks over a graph as batches.
#include <gtest/gtest.h>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/philox.h"
#include "weft/data/walk_graph.h"
#include "weft/train/step/training_data.h"

namespace weft::walks_test {
namespace {

using test::expect_error;
using Ends = std::pair<std::int32_t, std::int32_t>;

constexpr std::int32_t kNodes = 24;

// A ring, each node joined to the next and to the one behind it.
std::string ring() {
  std::string text;
  for (int i = 0; i < kNodes; ++i) {
    text +=
        fmt::format("{} {}\n{} {}\n", i, (i + 1) % kNodes, i, (i + 2) % kNodes);
  }
  return text;
}

bool is_joined(std::int32_t a, std::int32_t b) {
  const std::int32_t apart = (a - b + kNodes) % kNodes;
  return apart == 1 || apart == 2 || apart >= kNodes - 2;
}

class Walks : public ::testing::Test {
 protected:
  std::unique_ptr<TrainingData> open(const Options& own = {},
                                     const std::string& text = ring(),
                                     std::vector<std::string> augment = {}) {
    folder_.write("edges.txt", text);
    const BatchSourceDef& def = batch_source_registry().get("walks");
    return def.open({.name = "edge-list",
                     .folder = folder_.path(),
                     .augment = std::move(augment),
                     .batch = 7,
                     .own = complete(def.options("edge-list"), own, "data")});
  }

  static std::vector<Tensor> copies(const Batch& batch) {
    std::vector<Tensor> result;
    for (const Tensor& tensor : batch.tensors) result.push_back(tensor.clone());
    return result;
  }

  // The pairs of one epoch.
  static std::vector<Ends> pairs(BatchSource& source) {
    std::vector<Ends> all;
    for (std::int64_t b = 0; b < source.batches_per_epoch(); ++b) {
      const Batch& batch = source.next();
      for (std::int64_t i = 0; i < batch.size; ++i) {
        all.emplace_back(batch.tensors[0].data<std::int32_t>()[i],
                         batch.tensors[1].data<std::int32_t>()[i]);
      }
    }
    return all;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Walks, FollowEdgesThatAreNotHeldOut) {
  const auto data = open({{"window", std::int64_t{1}}, {"held_out", 0.25}});
  const auto held_out = data->measure(DataPart::kTest, {});
  std::set<Ends> measured;
  for (const auto& [a, b] : pairs(*held_out)) {
    EXPECT_TRUE(is_joined(a, b));
    measured.insert({a, b});
  }
  EXPECT_EQ(measured.size(), 12u);  // of 48
  const auto source = data->train({});
  // From each node a walk of 40, on which 39 steps lead forth and back.
  EXPECT_EQ(source->examples_per_epoch(), kNodes * 2 * 39);
  std::set<std::int32_t> met;
  const auto all = pairs(*source);
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kNodes) * 2 * 39);
  for (const auto& [a, b] : all) {
    EXPECT_TRUE(is_joined(a, b)) << a << " " << b;
    EXPECT_FALSE(measured.contains({std::min(a, b), std::max(a, b)}));
    met.insert(a);
  }
  EXPECT_EQ(met.size(), static_cast<std::size_t>(kNodes));
}

TEST_F(Walks, AreAFunctionOfTheirPosition) {
  const auto data = open();
  const auto source = data->train({});
  const auto first = pairs(*source);
  EXPECT_EQ(source->position(), (BatchPosition{1, 0}));
  EXPECT_NE(pairs(*source), first);
  source->seek({0, 5});
  const auto batch = copies(source->next());
  source->seek({0, 0});
  for (int i = 0; i < 5; ++i) source->next();
  const Batch& again = source->next();
  for (std::size_t f = 0; f < 3; ++f) {
    EXPECT_TRUE(identical(batch[f], again.tensors[f]));
  }
  expect_error(ErrorCode::kInvalidArgument, {"there is no batch"}, [&] {
    source->seek({0, 100000});
  });
}

TEST_F(Walks, OfSeveralWorkersAreThoseOfOne) {
  const auto data = open();
  const auto whole = data->train({});
  const auto a = data->train({.rank = 0, .ranks = 2});
  const auto b = data->train({.rank = 1, .ranks = 2});
  for (std::int64_t i = 0; i < whole->batches_per_epoch(); ++i) {
    const Batch& all = whole->next();
    const Batch& left = a->next();
    const Batch& right = b->next();
    ASSERT_EQ(left.size + right.size, all.size);
    EXPECT_EQ(left.whole_size, all.size);
    for (std::size_t f = 0; f < 3; ++f) {
      EXPECT_TRUE(
          identical(left.tensors[f], all.tensors[f].slice(0, left.size)));
      EXPECT_TRUE(identical(right.tensors[f],
                            all.tensors[f].slice(left.size, all.size)));
    }
  }
}

TEST_F(Walks, AreMeasuredBesideStrangers) {
  const auto source = open()->measure(DataPart::kTest, {});
  const Batch& batch = source->next();
  const std::int64_t others = batch.tensors[2].shape()[1];
  for (std::int64_t i = 0; i < batch.size * others; ++i) {
    const auto node = batch.tensors[0].data<std::int32_t>()[i / others];
    const auto other = batch.tensors[2].data<std::int32_t>()[i];
    EXPECT_FALSE(node == other || is_joined(node, other));
  }
}

TEST_F(Walks, RefuseWhatIsNoGraph) {
  expect_error(ErrorCode::kInvalidArgument, {"1 edges"},
               [&] { open({}, "1 2\n2 1\n3 3\n"); });
  // Every edge is the only one of a node.
  expect_error(ErrorCode::kInvalidArgument, {"data.held_out"}, [&] {
    open({{"held_out", 0.9}}, "0 1\n0 2\n0 3\n");
  });
  expect_error(ErrorCode::kDataLoss, {"edges.txt", "2"},
               [&] { open({}, "0 1\n0 x\n"); });
  expect_error(ErrorCode::kInvalidArgument,
               {"'flip", "because it is for images"},
               [&] { open({}, ring(), {"flip"}); });
  expect_error(ErrorCode::kInvalidArgument, {"did you mean 'cora'?"},
               [] { batch_source_registry().get("walks").options("coral"); });
  const auto data = open();
  expect_error(ErrorCode::kInvalidArgument, {"9 workers"},
               [&] { data->train({.rank = 0, .ranks = 9}); });
}

TEST(WalkGraph, DrawsNodesByTheirDegree) {
  // A star of 16: its centre has degree 16, and so weight 8 beside 16 of 1.
  std::string text;
  for (int i = 1; i <= 16; ++i) text += fmt::format("0 {}\n", i);
  const WalkGraph graph(concurrent::parse_edge_list(text, "star"), 0.1, "star");
  EXPECT_TRUE(graph.held_out().empty());
  const RandomStream random{.seed = 1};
  int centre = 0;
  for (std::uint64_t i = 0; i < 9000; ++i) {
    const PhiloxBlock words = random.block(i);
    centre += graph.frequent_node(words[0], words[1]) == 0;
  }
  EXPECT_NEAR(centre, 3000, 200);
}

}  // namespace
}  // namespace weft::walks_test
