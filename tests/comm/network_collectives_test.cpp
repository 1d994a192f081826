#include "weft/comm/graph/network_collectives.h"

#include <gtest/gtest.h>
#include <mutex>

#include "tests/support/errors.h"

#include "weft/autodiff/gradient.h"
#include "weft/comm/transport/thread.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::network_collectives_test {
namespace {

using test::expect_error;

// Calls `body` on every rank, with a network around it.
void on_ranks(int ranks, const std::function<void(int)>& body) {
  ThreadWorld world(ranks, {.most_delay = 1e-4, .seed = 3});
  world.run([&](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    NetworkCollectives network(all, engine);
    CollectivesScope scope(network);
    body(transport.rank());
  });
}

Value i64(std::vector<std::int64_t> values) {
  const auto size = static_cast<Dim>(values.size());
  return Tensor::of<std::int64_t>({size},
                                  std::span<const std::int64_t>(values));
}

std::vector<std::int64_t> numbers(const Value& value) {
  const auto all = value.tensor().span<std::int64_t>();
  return {all.begin(), all.end()};
}

using Numbers = std::vector<std::int64_t>;

TEST(NetworkCollectives, SumsAndGathersInEachGroup) {
  const RankGroups groups{{0, 3, 2, 1}, 2};  // 0 with 3, 2 with 1
  on_ranks(4, [&](int rank) {
    const bool is_outer = rank == 0 || rank == 3;
    const Value x = i64({rank, 10 * rank});
    EXPECT_EQ(numbers(all_reduce(x, groups)), (Numbers{3, 30}));
    // The first of a group keeps the first part: 0, and 2.
    EXPECT_EQ(numbers(reduce_scatter(x, groups)),
              (Numbers{rank == 0 || rank == 2 ? 3 : 30}));
    EXPECT_EQ(numbers(all_gather(x, groups)),
              is_outer ? (Numbers{0, 0, 3, 30}) : (Numbers{2, 20, 1, 10}));
    EXPECT_EQ(numbers(x), (Numbers{rank, 10 * rank}));
    EXPECT_EQ(numbers(all_reduce(x, RankGroups{{0, 1, 2, 3}, 1})), numbers(x));
  });
}

TEST(NetworkCollectives, TakesEmptyTensors) {
  on_ranks(3, [&](int) {
    const RankGroups all = RankGroups::whole(3);
    EXPECT_TRUE(numbers(all_reduce(i64({}), all)).empty());
    EXPECT_TRUE(numbers(reduce_scatter(i64({}), all)).empty());
    EXPECT_TRUE(numbers(all_gather(i64({}), all)).empty());
  });
}

// f's first result, and the gradient of sum(f(x) * w) by x.
Function with_gradient(const std::function<Value(const Value&)>& op, Dim size,
                       Dim result_size) {
  FunctionBuilder builder("f");
  return builder.build([&] {
    const Value x = builder.parameter({DType::kF64, {size}}, "x");
    const Value w = builder.parameter({DType::kF64, {result_size}}, "w");
    const Value y = op(x);
    return std::vector{y, gradients(sum(y * w), {&x, 1})[0]};
  });
}

// Small integers, so that sums are exact.
Tensor drawn(Dim size, int rank, int salt) {
  Tensor tensor = Tensor::empty({DType::kF64, {size}});
  for (std::int64_t i = 0; i < size; ++i) {
    tensor.data<double>()[i] =
        static_cast<double>((i * 7 + rank * 5 + salt * 3) % 11 - 5);
  }
  return tensor;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) sum += a.item(i) * b.item(i);
  return sum;
}

// The ops are linear, so over all ranks <w, f(x)> = <gradient, x>, for any w.
void expect_adjoint(const std::function<Value(const Value&)>& op, Dim size,
                    Dim result_size) {
  std::mutex mutex;
  double forward = 0;
  double backward = 0;
  on_ranks(4, [&](int rank) {
    Executable executable(with_gradient(op, size, result_size));
    const Tensor x = drawn(size, rank, 1);
    const Tensor w = drawn(result_size, rank, 2);
    const auto results = executable.run({{x, w}});
    const std::lock_guard lock(mutex);
    forward += dot(w, results[0]);
    backward += dot(x, results[1]);
  });
  EXPECT_EQ(forward, backward);
  EXPECT_NE(forward, 0);
}

TEST(NetworkCollectives, GradientsAreTheAdjoints) {
  for (const RankGroups& groups :
       {RankGroups::whole(4), RankGroups{{3, 1, 0, 2}, 2}}) {
    const Dim members = groups.size;
    expect_adjoint([&](const Value& x) { return all_reduce(x, groups); }, 6, 6);
    expect_adjoint([&](const Value& x) { return reduce_scatter(x, groups); },
                   12, 12 / members);
    expect_adjoint([&](const Value& x) { return all_gather(x, groups); }, 3,
                   3 * members);
  }
}

TEST(NetworkCollectives, RanksThatDisagreeAllLearnOfIt) {
  std::mutex mutex;
  int failed = 0;
  EXPECT_THROW(on_ranks(2,
                        [&](int rank) {
                          const RankGroups both = RankGroups::whole(2);
                          try {
                            if (rank == 0) {
                              all_reduce(i64({1, 2}), both);
                            } else {
                              all_gather(i64({1}), both);
                            }
                          } catch (const Error& error) {
                            const std::string text = error.what();
                            EXPECT_NE(text.find("all_reduce"), text.npos);
                            EXPECT_NE(text.find("all_gather"), text.npos);
                            const std::lock_guard lock(mutex);
                            ++failed;
                            throw;
                          }
                        }),
               Error);
  EXPECT_EQ(failed, 2);
}

TEST(NetworkCollectives, ARankThatLeavesFailsTheRunOfTheOthers) {
  std::mutex mutex;
  int failed = 0;
  EXPECT_THROW(on_ranks(3,
                        [&](int rank) {
                          if (rank == 2) {
                            throw Error(ErrorCode::kCancelled, "rank 2",
                                        "had enough");
                          }
                          try {
                            all_reduce(i64({1, 2}), RankGroups::whole(3));
                          } catch (const Error&) {
                            const std::lock_guard lock(mutex);
                            ++failed;
                            throw;
                          }
                        }),
               Error);
  EXPECT_EQ(failed, 2);
}

}  // namespace
}  // namespace weft::network_collectives_test
