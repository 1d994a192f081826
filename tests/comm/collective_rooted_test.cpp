#include <gtest/gtest.h>
#include <numeric>

#include "weft/comm/collective/rooted.h"
#include "weft/comm/transport/sim.h"

namespace weft::collective_rooted_test {
namespace {

using Vector = std::vector<std::int32_t>;

// What each rank holds after `body`, which gets its channel and its vector.
using Body = std::function<Task<>(Channel, DenseBuffer)>;
std::vector<Vector> after(int ranks, std::vector<Vector> vectors,
                          const Body& body) {
  SimWorld world(Topology{{{ranks, 1e-6, 1e-9}}},
                 {.most_delay = 1e-5, .seed = 3});
  world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    auto& mine = vectors[static_cast<std::size_t>(transport.rank())];
    const Channel channel = all.open({"test", ""});
    co_await body(channel, dense(std::span(mine)));
  });
  return vectors;
}

// Rank r holds (r + 1) * (i + 1) at i.
std::vector<Vector> multiples(int ranks, std::size_t count) {
  std::vector<Vector> vectors;
  for (int rank = 0; rank < ranks; ++rank) {
    Vector& vector = vectors.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i) {
      vector[i] = (rank + 1) * (static_cast<std::int32_t>(i) + 1);
    }
  }
  return vectors;
}

// The parts grow from rank to rank, and the first has no elements.
Parts growing(int ranks) {
  std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks));
  std::iota(sizes.begin(), sizes.end(), 0);
  return Parts::of_sizes(sizes);
}

constexpr ScatterMethod kScatterMethods[] = {
    ScatterMethod::kRing, ScatterMethod::kHalving, ScatterMethod::kDirect};

TEST(Parts, DifferByAtMostOneTheLargerFirst) {
  const Parts parts = Parts::near_equal({10, 21}, 3);
  EXPECT_EQ(parts[0], (Interval{10, 14}));
  EXPECT_EQ(parts[1], (Interval{14, 18}));
  EXPECT_EQ(parts[2], (Interval{18, 21}));
  EXPECT_EQ(parts.cyclic(-1), parts[2]);
  EXPECT_EQ(Parts::near_equal({0, 1}, 2)[1].size(), 0u);
}

TEST(ReduceScatter, LeavesThePartOfTheRankWhateverTheSizes) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    const Parts parts = growing(ranks);
    const std::size_t count = parts.whole().end;
    for (const ScatterMethod method : kScatterMethods) {
      const auto results =
          after(ranks, multiples(ranks, count),
                [&](Channel channel, DenseBuffer buffer) {
                  return reduce_scatter(method, channel, buffer, parts);
                });
      for (int rank = 0; rank < ranks; ++rank) {
        for (std::size_t i = parts[rank].begin; i < parts[rank].end; ++i) {
          ASSERT_EQ(
              results[static_cast<std::size_t>(rank)][i],
              ranks * (ranks + 1) / 2 * (static_cast<std::int32_t>(i) + 1))
              << to_string(method) << " of " << ranks;
        }
      }
    }
  }
}

TEST(AllGather, FillsInThePartsOfOthersWhateverTheSizes) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    const Parts parts = growing(ranks);
    const auto vectors = multiples(ranks, parts.whole().end);
    Vector expected;
    for (int rank = 0; rank < ranks; ++rank) {
      for (std::size_t i = parts[rank].begin; i < parts[rank].end; ++i) {
        expected.push_back(vectors[static_cast<std::size_t>(rank)][i]);
      }
    }
    for (const ScatterMethod method : kScatterMethods) {
      for (const Vector& result :
           after(ranks, vectors, [&](Channel channel, DenseBuffer buffer) {
             return all_gather(method, channel, buffer, parts);
           })) {
        ASSERT_EQ(result, expected) << to_string(method) << " of " << ranks;
      }
    }
  }
}

TEST(Rooted, BroadcastAndReduceFromEveryRoot) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    const auto vectors = multiples(ranks, 10);
    for (int root = 0; root < ranks; ++root) {
      const auto at_root = static_cast<std::size_t>(root);
      for (const RootedMethod method :
           {RootedMethod::kTree, RootedMethod::kCut}) {
        for (const Vector& result :
             after(ranks, vectors, [&](Channel channel, DenseBuffer buffer) {
               return broadcast(method, channel, buffer, root);
             })) {
          ASSERT_EQ(result, vectors[at_root]) << root << " of " << ranks;
        }
        const auto reduced =
            after(ranks, vectors, [&](Channel channel, DenseBuffer buffer) {
              return reduce(method, channel, buffer, root);
            });
        for (std::size_t i = 0; i < 10; ++i) {
          ASSERT_EQ(reduced[at_root][i],
                    ranks * (ranks + 1) / 2 * (static_cast<int>(i) + 1));
        }
      }
    }
  }
}

TEST(Rooted, GatherAndScatterMovePartsAlone) {
  const Parts parts = growing(4);  // of 0, 1, 2 and 3 elements
  const auto vectors = multiples(4, 6);
  const auto gathered =
      after(4, vectors, [&](Channel channel, DenseBuffer buffer) {
        return gather(channel, buffer, parts, 2);
      });
  EXPECT_EQ(gathered[2], (Vector{2, 6, 9, 16, 20, 24}));
  EXPECT_EQ(gathered[1], vectors[1]);
  const auto scattered =
      after(4, vectors, [&](Channel channel, DenseBuffer buffer) {
        return scatter(channel, buffer, parts, 2);
      });
  EXPECT_EQ(scattered[3], (Vector{4, 8, 12, 12, 15, 18}));
  EXPECT_EQ(scattered[2], vectors[2]);
}

TEST(AllToAll, TransposesPartsOfAnySize) {
  constexpr int kRanks = 5;
  // Rank r sends r + p elements to rank p, each of them 10 r + p.
  std::vector<Vector> received(kRanks);
  SimWorld world(Topology{{{kRanks, 1e-6, 1e-9}}},
                 {.most_delay = 1e-5, .seed = 3});
  world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const int rank = transport.rank();
    std::vector<std::size_t> sizes;
    Vector sent;
    for (int peer = 0; peer < kRanks; ++peer) {
      sizes.push_back(static_cast<std::size_t>(rank + peer));
      sent.insert(sent.end(), sizes.back(), 10 * rank + peer);
    }
    const Parts parts = Parts::of_sizes(sizes);
    Vector& mine = received[static_cast<std::size_t>(rank)];
    mine.resize(parts.whole().end);
    const Channel channel = all.open({"all_to_all", ""});
    co_await all_to_all(channel, dense(std::span(sent)), parts,
                        dense(std::span(mine)), parts);
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    Vector expected;
    for (int peer = 0; peer < kRanks; ++peer) {
      const auto count =
          static_cast<std::size_t>(rank) + static_cast<std::size_t>(peer);
      expected.insert(expected.end(), count, 10 * peer + rank);
    }
    EXPECT_EQ(received[static_cast<std::size_t>(rank)], expected);
  }
}

TEST(Barrier, NobodyLeavesBeforeTheLastHasEntered) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    SimWorld world(Topology{{{ranks, 1e-6, 1e-9}}});
    double last_entered = 0;
    world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      const Channel channel = all.open({"barrier", ""});
      co_await channel.pause(1e-3 * ((transport.rank() * 11 + 3) % ranks));
      last_entered = std::max(last_entered, transport.now());
      co_await barrier(channel);
      EXPECT_GE(transport.now(), 1e-3 * (ranks - 1));
      EXPECT_GE(transport.now(), last_entered);
    });
  }
}

}  // namespace
}  // namespace weft::collective_rooted_test
