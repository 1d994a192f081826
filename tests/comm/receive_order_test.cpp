// In which order parts of a graph are sent what they read, and that it changes
// no bit.
#include "weft/comm/graph/receive_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/placed_programs.h"

#include "weft/comm/graph/partitioned.h"
#include "weft/comm/transport/thread.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/place/partition.h"
#include "weft/place/rank_placer.h"

namespace weft::receive_order_test {
namespace {

using test::expect_error;
using test::random_tree;
using test::tree_program;
using test::types_of;
using test::Values;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Tensors = std::vector<Tensor>;

constexpr ReceiveOrder kAll[] = {ReceiveOrder::kNone, ReceiveOrder::kTic,
                                 ReceiveOrder::kTac, ReceiveOrder::kRandom,
                                 ReceiveOrder::kLastUse};
constexpr int kLayers = 6;

// main(x, last, …, first): a chain of layers whose weights the graph lists the
// last first.
Graph chain(Dim width) {
  const TensorType type{DType::kF32, {width, width}};
  Program program;
  program.define("main", std::vector<TensorType>(1 + kLayers, type),
                 [](const Values& v) {
                   Value x = v[0];
                   for (std::size_t i = kLayers; i > 0; --i)
                     x = tanh(matmul(x, v[i]));
                   return Values{x};
                 });
  return program.build();
}

Tensors random_inputs(std::size_t count, Dim width) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 0.3f);
  Tensors inputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs.push_back(Tensor::empty({DType::kF32, {width, width}}));
    for (float& value : inputs.back().span<float>()) value = normal(random);
  }
  return inputs;
}

// Rank 0 computes, ranks 1 and 2 have the weights.
RankPlacement with_remote_weights() {
  RankPlacement placement{.ranks = 3, .others = 0, .arguments = {0}};
  for (int i = 0; i < kLayers; ++i) placement.arguments.push_back(1 + i % 2);
  return placement;
}

struct Outcome {
  Tensors results;
  Receipt receipt;
  ReceivePlaces places;
};

Outcome run_parts(const Graph& graph, const RankPlacement& placement,
                  const Tensors& inputs, ReceiveOrder order,
                  const TaggedOptions& options = {}) {
  Outcome outcome;
  ThreadWorld world(placement.ranks);
  world.run([&](Transport& transport) {
    Engine engine(transport, {.timeout = 20});
    Communicator all(transport);
    Partitioned parts(graph, "main", types_of(inputs), placement, all, engine,
                      options, order);
    Tensors own = inputs;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (placement.rank_of_argument(i) != transport.rank()) own[i] = Tensor();
    }
    // Memory for arguments is that of the run before.
    parts.run(own);
    Tensors results = parts.run(own);
    if (transport.rank() != 0) return;
    outcome = {std::move(results), parts.receipt(), parts.places()};
  });
  return outcome;
}

TEST(ReceiveOrder, ChangesNoBit) {
  const Graph graph = chain(24);
  const RankPlacement placement = with_remote_weights();
  const Tensors inputs = random_inputs(1 + kLayers, 24);
  TaggedExecutor whole(lower(graph, "main", types_of(inputs)));
  const Tensors expected = whole.run(inputs);
  for (const ReceiveOrder order : kAll) {
    const Outcome outcome = run_parts(graph, placement, inputs, order);
    EXPECT_TRUE(identical(outcome.results.at(0), expected.at(0)));
    EXPECT_EQ(outcome.receipt.values, kLayers);
    EXPECT_EQ(outcome.receipt.bytes, kLayers * 24 * 24 * 4);
    EXPECT_EQ(outcome.receipt.computing > 0, order != ReceiveOrder::kNone);
  }
  // Where all is gathered first, nothing is waited for in between.
  const Outcome batched =
      run_parts(graph, placement, inputs, ReceiveOrder::kTic,
                {.batching = Batching::kAlways});
  EXPECT_TRUE(identical(batched.results.at(0), expected.at(0)));
}

TEST(ReceiveOrder, OfAChainIsThatOfItsLayers) {
  const RankPlacement placement = with_remote_weights();
  const Tensors inputs = random_inputs(1 + kLayers, 24);
  const auto places = [&](ReceiveOrder order) {
    return run_parts(chain(24), placement, inputs, order).places;
  };
  const ReceivePlaces tic = places(ReceiveOrder::kTic);
  ASSERT_EQ(tic.by_crossing.size(), static_cast<std::size_t>(kLayers));
  const ReceivePlaces tac = places(ReceiveOrder::kTac);
  EXPECT_EQ(tac.by_crossing, tic.by_crossing);
  ASSERT_TRUE(tac.expected_efficiency);
  EXPECT_GE(*tac.expected_efficiency, 0);
  EXPECT_LE(*tac.expected_efficiency, 1);
  EXPECT_FALSE(places(ReceiveOrder::kRandom).expected_efficiency);
  const ReceivePlaces worst = places(ReceiveOrder::kLastUse);
  for (std::size_t i = 0; i < tic.by_crossing.size(); ++i) {
    EXPECT_EQ(worst.by_crossing[i], kLayers - 1 - tic.by_crossing[i]);
  }
  EXPECT_TRUE(places(ReceiveOrder::kNone).by_crossing.empty());
}

// Recursions whose ranks send each other what they compute.
TEST(ReceiveOrder, OfARecursionChangesNoBit) {
  const Graph graph = tree_program();
  const Tensors inputs = random_tree(17, 5);
  RankPlacement placement = parse_placement("leaf=1 combine=2", 3);
  TaggedExecutor whole(lower(graph, "step", types_of(inputs), placement),
                       {.batching = Batching::kNever, .workers = 1});
  const Tensors expected = whole.run(inputs);
  for (const ReceiveOrder order : kAll) {
    ThreadWorld world(3);
    world.run([&](Transport& transport) {
      Engine engine(transport, {.timeout = 20});
      Communicator all(transport);
      Partitioned parts(graph, "step", types_of(inputs), placement, all, engine,
                        {}, order);
      const Tensors results = parts.run(inputs);
      if (transport.rank() != 0) return;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(identical(results[i], expected[i])) << i;
      }
    });
  }
}

// Crossings of rank 0 to rank 1, of so many bytes each.
FlatGraph crossings(int count, Dim bytes) {
  FlatGraph graph;
  graph.bodies.push_back({"main"});
  for (int i = 0; i < count; ++i) {
    graph.crossings.push_back({.from = 0,
                               .to = 1,
                               .type = {DType::kU8, {bytes}},
                               .value = fmt::format("v{}", i),
                               .argument = i});
  }
  return graph;
}

// The order in which rank 1 hears what rank 0 has sent all at once.
std::vector<int> heard(const std::vector<std::size_t>& places, Dim bytes) {
  std::vector<int> order;
  const int count = static_cast<int>(places.size());
  const FlatGraph graph = crossings(count, bytes);
  ThreadWorld world(2);
  world.run([&](Transport& transport) {
    Engine engine(transport, {.timeout = 20});
    Communicator all(transport);
    NetworkPeers peers(all, engine);
    peers.set_places(places);
    peers.begin_run(graph);
    for (int i = 0; i < count && transport.rank() == 0; ++i) {
      peers.send({{}, i, Tensor::zeros({DType::kU8, {bytes}})});
    }
    std::vector<Parcel> parcels;
    while (transport.rank() == 1 &&
           parcels.size() < static_cast<std::size_t>(count)) {
      peers.poll(0.05, parcels);
    }
    for (const Parcel& parcel : parcels) order.push_back(parcel.crossing);
    peers.end_run();
  });
  return order;
}

TEST(ReceiveOrder, IsKeptToWhereArgumentsAreHandedOver) {
  for (const Dim bytes : {Dim{16}, Dim{100'000}, Dim{3'000'000}}) {
    EXPECT_THAT(heard({4, 3, 0, 2, 1}, bytes), ElementsAre(2, 4, 3, 1, 0));
    EXPECT_THAT(heard({4, 3, 0, 3, 1}, bytes), ElementsAre(2, 4, 1, 3, 0));
  }
}

// Hands out arguments one at a time: each when a unit of work has ended since
// the one before, so that a rank that waits for all of them first never runs.
class SlowPeers final : public Peers {
 public:
  explicit SlowPeers(Tensors arguments) : arguments_(std::move(arguments)) {}

  int rank() const override { return 0; }
  int size() const override { return 2; }
  void begin_run(const FlatGraph& graph) override { graph_ = &graph; }
  void send(Parcel) override {}
  void poll(double seconds, std::vector<Parcel>& parcels) override {
    if (seconds > 0 && ++polls_ > 1000) {
      throw Error(ErrorCode::kUnavailable, "test", "nothing goes on");
    }
    if (sent_ > begun_ || sent_ == arguments_.size()) return;
    for (std::size_t i = 0; i < graph_->crossings.size(); ++i) {
      if (graph_->crossings[i].argument != static_cast<int>(sent_)) continue;
      // As the network does, into memory that the run was given.
      rooms[sent_].copy_from(arguments_[sent_]);
      parcels.push_back({{}, static_cast<int>(i), rooms[sent_]});
    }
    ++sent_;
  }
  void end_run() override {}
  void fail(const Error&) noexcept override {}

  void begin_work() { ++begun_; }
  Tensors rooms;

 private:
  Tensors arguments_;
  const FlatGraph* graph_ = nullptr;
  std::size_t sent_ = 0;
  std::size_t begun_ = 0;
  int polls_ = 0;
};

TEST(ReceiveOrder, ComputingBeginsWithWhatHasCome) {
  const TensorType type{DType::kF32, {8, 8}};
  Program program;
  const auto layer = [](const Values& v) {
    return Values{tanh(matmul(v[0], v[1]))};
  };
  // Functions that are called once read arguments of the entry in place.
  const FunctionRef one = program.define("one", {type, type}, layer);
  const FunctionRef two = program.define("two", {type, type}, layer);
  program.define("main", {type, type}, [&](const Values& v) {
    const Value first = call(one, Values{v[0], v[0]})[0];
    return Values{call(two, Values{first, v[1]})[0]};
  });
  const Graph graph = program.build();
  const RankPlacement placement{.ranks = 2, .others = 0, .arguments = {1, 1}};
  const Tensors inputs = random_inputs(2, 8);
  std::vector<GraphPart> parts =
      partition(lower(graph, "main", types_of(inputs), placement), placement);
  SlowPeers peers(inputs);
  for (int i = 0; i < 2; ++i) peers.rooms.push_back(Tensor::empty(type));
  TaggedExecutor part(
      std::move(parts[0].graph),
      {.before_work = [&] { peers.begin_work(); }, .peers = &peers});
  const Tensors results = part.run(peers.rooms);
  TaggedExecutor whole(lower(graph, "main", types_of(inputs)));
  EXPECT_TRUE(identical(results.at(0), whole.run(inputs).at(0)));
}

TEST(ReceiveOrder, KnowsItsNames) {
  EXPECT_EQ(receive_order("tac"), ReceiveOrder::kTac);
  EXPECT_EQ(receive_order("last_use"), ReceiveOrder::kLastUse);
  expect_error(ErrorCode::kInvalidArgument, {"no order 'fifo'", "last_use"},
               [] { receive_order("fifo"); });
  // Another order in each run, and on each rank.
  EXPECT_NE(random_places(20, 0, 0), random_places(20, 0, 1));
  EXPECT_NE(random_places(20, 0, 0), random_places(20, 1, 0));
  EXPECT_EQ(random_places(20, 1, 7), random_places(20, 1, 7));
}

}  // namespace
}  // namespace weft::receive_order_test
