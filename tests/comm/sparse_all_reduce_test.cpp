#include <bit>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/comm/sparse/all_reduce.h"
#include "weft/comm/transport/engine.h"
#include "weft/comm/transport/thread.h"

namespace weft::sparse_all_reduce_test {
namespace {

using testing::HasSubstr;

using Message = std::vector<std::byte>;

// A contribution that depends on the rank alone.
using Contribution = std::function<Stream(int rank)>;

std::unique_ptr<ValueCodec> four_bit_codec() {
  const auto& def = value_codec_registry().get("qsgd");
  return def.make(complete(def.options, {{"bits", std::int64_t{4}}}, def.name));
}

Message message_of(const Stream& stream) {
  return {stream.message().begin(), stream.message().end()};
}

// What each rank ends with.
std::vector<Message> all_reduce(int ranks, const std::string& algorithm,
                                const Contribution& contribution,
                                const SparseOptions& options = {}) {
  std::vector<Message> results(static_cast<std::size_t>(ranks));
  ThreadWorld world(ranks);
  world.run([&](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    Stream stream = contribution(transport.rank());
    engine.run(sparse_all_reduce_registry().get(algorithm).run(
        all.open({"sparse_all_reduce", algorithm}), stream, options));
    stream.check();
    results[static_cast<std::size_t>(transport.rank())] = message_of(stream);
  });
  return results;
}

template <class Value>
std::vector<Value> vector_of(const Message& message, std::uint64_t size) {
  RawBytes room(message.size());
  std::ranges::copy(message, room.data());
  const Stream stream = Stream::from_message(
      std::move(room), message.size(), {dtype_of<Value>(), size}, "the result");
  std::vector<Value> values(size);
  stream.copy_to(std::span(values));
  return values;
}

// Each element is an item with this probability, as integers or as anything.
template <class Value>
Stream random_stream(std::uint64_t size, double density, int seed,
                     bool is_integer) {
  const RandomStream random{static_cast<std::uint64_t>(seed), 0, 0};
  std::vector<std::uint32_t> indices;
  std::vector<Value> values;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (uniform_from(random.word(2 * i)) >= density) continue;
    const std::uint32_t word = random.word(2 * i + 1);
    indices.push_back(i);
    values.push_back(is_integer ? Value(int(word % 201) - 100)
                                : Value(uniform_from(word) - 0.5f));
  }
  return Stream::of<std::uint32_t, Value>(size, indices, values);
}

template <class Value>
std::vector<double> exact_sum(int ranks, std::uint64_t size,
                              const Contribution& contribution) {
  std::vector<double> result(size);
  std::vector<Value> values(size);
  for (int rank = 0; rank < ranks; ++rank) {
    contribution(rank).copy_to(std::span(values));
    for (std::size_t i = 0; i < size; ++i) {
      result[i] += static_cast<double>(values[i]);
    }
  }
  return result;
}

class SparseAllReduce : public testing::TestWithParam<std::string> {};

TEST_P(SparseAllReduce, IntegersAreExactAndAllRanksHaveTheSameBits) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    const auto parts = static_cast<std::uint64_t>(ranks);
    for (const std::uint64_t size :
         {std::uint64_t{1}, parts - 1, parts, std::uint64_t{1000}}) {
      for (const double density : {0., 0.01, 0.2, 1.}) {
        const Contribution mine = [&](int rank) {
          return random_stream<float>(size, density, rank + 1, true);
        };
        const auto results = all_reduce(ranks, GetParam(), mine);
        for (const Message& result : results) ASSERT_EQ(result, results[0]);
        const auto values = vector_of<float>(results[0], size);
        const auto expected = exact_sum<float>(ranks, size, mine);
        ASSERT_TRUE(std::ranges::equal(values, expected))
            << ranks << " ranks, " << size << " elements, " << density;
      }
    }
  }
}

TEST_P(SparseAllReduce, WhereverVectorsAreCut) {
  const Contribution mine = [](int rank) {
    return random_stream<float>(200, 0.2, rank + 1, true);
  };
  for (const auto& ends : std::vector<std::vector<std::uint64_t>>{
           {0, 0, 7, 200}, {1, 150, 150, 200}, {200, 200, 200, 200}}) {
    const auto results =
        all_reduce(4, GetParam(), mine, {.partitions = Partitions(ends)});
    for (const Message& result : results) ASSERT_EQ(result, results[0]);
    EXPECT_TRUE(std::ranges::equal(vector_of<float>(results[0], 200),
                                   exact_sum<float>(4, 200, mine)));
  }
}

TEST_P(SparseAllReduce, FloatsAreWithinTheBoundOfASumAndIdentical) {
  for (const int ranks : {2, 3, 6, 8, 13}) {
    for (const double density : {0.02, 0.3}) {
      const Contribution mine = [&](int rank) {
        return random_stream<float>(1000, density, rank + 1, false);
      };
      const auto results = all_reduce(ranks, GetParam(), mine);
      for (const Message& result : results) ASSERT_EQ(result, results[0]);
      const auto values = vector_of<float>(results[0], 1000);
      const auto expected = exact_sum<float>(ranks, 1000, mine);
      for (std::size_t i = 0; i < values.size(); ++i) {
        // Each of P - 1 additions of values below P / 2 rounds once.
        ASSERT_NEAR(values[i], expected[i], ranks * ranks * 0x1p-25);
      }
    }
  }
}

TEST_P(SparseAllReduce, DoublesAndUnequalContributions) {
  for (const int ranks : {4, 7}) {
    // None, a few, and all of them.
    const Contribution mine = [&](int rank) {
      const double density = rank % 3 == 0 ? 0 : rank % 3 == 1 ? 0.03 : 1;
      return random_stream<double>(501, density, rank, true);
    };
    const auto results = all_reduce(ranks, GetParam(), mine);
    for (const Message& result : results) ASSERT_EQ(result, results[0]);
    EXPECT_EQ(vector_of<double>(results[0], 501),
              exact_sum<double>(ranks, 501, mine));
  }
}

TEST_P(SparseAllReduce, ManyInFlightDoNotMixWhateverTheDelays) {
  constexpr int kOperations = 100;
  constexpr int kRanks = 4;
  constexpr std::uint64_t kSize = 60;
  const auto mine = [](int operation, int rank) {
    return random_stream<float>(kSize, 0.2, operation * kRanks + rank, true);
  };
  ThreadWorld world(kRanks, {.most_delay = 1e-3, .seed = 3});
  world.run([&](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    std::vector<Stream> streams;
    std::vector<Engine::Operation> operations;
    for (int i = 0; i < kOperations; ++i) {
      streams.push_back(mine(i, transport.rank()));
    }
    for (Stream& stream : streams) {
      operations.push_back(engine.start(
          sparse_all_reduce_registry()
              .get(GetParam())
              .run(all.open({"sparse_all_reduce", "f32[60]"}), stream, {})));
    }
    // They are waited for in another order on each rank.
    for (int i = 0; i < kOperations; ++i) {
      const int which = (i * (2 * transport.rank() + 1)) % kOperations;
      auto& operation = operations[static_cast<std::size_t>(which)];
      if (operation) engine.wait(operation);
      operation = nullptr;
    }
    for (const auto& operation : operations) {
      if (operation) engine.wait(operation);
    }
    for (int i = 0; i < kOperations; ++i) {
      const Contribution of_rank = [&](int rank) { return mine(i, rank); };
      std::vector<float> values(kSize);
      streams[static_cast<std::size_t>(i)].copy_to(std::span(values));
      const auto expected = exact_sum<float>(kRanks, kSize, of_rank);
      EXPECT_TRUE(std::ranges::equal(values, expected)) << i;
    }
  });
}

TEST_P(SparseAllReduce, ADeadRankIsAnErrorAndNoHang) {
  ThreadWorld world(5);
  std::string message;
  try {
    world.run([&](Transport& transport) {
      if (transport.rank() == 3) {
        throw Error(ErrorCode::kInternal, "rank 3", "killed");
      }
      Engine engine(transport);
      Communicator all(transport);
      Stream stream = random_stream<float>(100, 0.1, transport.rank(), true);
      engine.run(sparse_all_reduce_registry()
                     .get(GetParam())
                     .run(all.open({"sparse_all_reduce", ""}), stream, {}));
    });
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("rank 3: killed"));
}

TEST_P(SparseAllReduce, MoreItemsThanPromisedAreRefused) {
  if (GetParam() == "dense") {
    // Sends no items: nothing to be promised.
    EXPECT_NO_THROW(all_reduce(
        2, GetParam(),
        [](int rank) { return random_stream<float>(1000, 0.4, rank, true); },
        {.most_items = 10}));
    return;
  }
  EXPECT_THROW(all_reduce(2, GetParam(),
                          [](int rank) {
                            return random_stream<float>(1000, 0.4, rank, true);
                          },
                          {.most_items = 10}),
               std::exception);
}

std::vector<std::string> algorithms() {
  std::vector<std::string> names;
  for (const auto& def : sparse_all_reduce_registry().all()) {
    names.push_back(def.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, SparseAllReduce,
                         testing::ValuesIn(algorithms()),
                         [](const auto& info) { return info.param; });

// Two ranks send what the others do not accept: a stream of another length.
TEST(SparseAllReduceMessages, ADamagedOneNamesItsRankAndField) {
  std::string message;
  try {
    all_reduce(3, "recursive_double", [](int rank) {
      return random_stream<float>(rank == 1 ? 99 : 100, 0.1, rank, true);
    });
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("the field 'size' is"));
  EXPECT_THAT(message, HasSubstr("rank"));
}

TEST(QuantizedDsar, IsIdenticalEverywhereAndUnbiased) {
  constexpr int kRanks = 3;
  constexpr std::uint64_t kSize = 12;
  constexpr std::uint32_t kDraws = 10000;
  const auto quantizer = four_bit_codec();
  const Contribution mine = [](int rank) {
    return random_stream<float>(kSize, 0.6, rank + 5, false);
  };
  const auto exact = exact_sum<float>(kRanks, kSize, mine);
  std::vector<double> sums(kSize);
  std::vector<double> squares(kSize);
  std::vector<std::vector<Message>> results(kDraws);
  ThreadWorld world(kRanks);
  for (auto& draw : results) draw.resize(kRanks);
  world.run([&](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      Stream stream = mine(transport.rank());
      engine.run(sparse_all_reduce_registry().get("dsar").run(
          all.open({"sparse_all_reduce", "dsar"}), stream,
          {.quantizer = quantizer.get(), .message = {.step = draw}}));
      results[draw][static_cast<std::size_t>(transport.rank())] =
          message_of(stream);
    }
  });
  for (const auto& draw : results) {
    for (const Message& result : draw) ASSERT_EQ(result, draw[0]);
    const auto values = vector_of<float>(draw[0], kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      sums[i] += static_cast<double>(values[i]);
      squares[i] += std::pow(static_cast<double>(values[i]), 2);
    }
  }
  double most_variance = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    const double mean = sums[i] / kDraws;
    const double variance = squares[i] / kDraws - mean * mean;
    most_variance = std::max(most_variance, variance);
    // Four standard deviations of the mean, and the rounding of f32.
    EXPECT_NEAR(mean, exact[i],
                4 * std::sqrt(std::max(0., variance) / kDraws) + 1e-6);
  }
  EXPECT_GT(most_variance, 0);  // it was quantized
}

TEST(QuantizedDsar, RefusesWhatCannotBeQuantized) {
  const auto quantizer = four_bit_codec();
  const auto message = [&](const Contribution& mine) -> std::string {
    try {
      all_reduce(2, "dsar", mine, {.quantizer = quantizer.get()});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message([](int rank) {
                return random_stream<double>(10, 0.5, rank, true);
              }),
              HasSubstr("'dsar' declines a quantizer of f64"));
  EXPECT_THAT(message([](int) {
                const std::vector<float> values = {1, INFINITY, 2};
                return Stream::of_dense(std::span<const float>(values));
              }),
              HasSubstr("not finite"));
}

}  // namespace
}  // namespace weft::sparse_all_reduce_test
