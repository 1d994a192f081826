#include "weft/serve/batch_queue.h"

#include <gtest/gtest.h>

namespace weft::batch_queue_test {
namespace {

using namespace std::chrono_literals;
using serve::BatchLimits;
using serve::BatchQueue;
using serve::Duration;
using serve::Request;
using serve::RequestRef;
using serve::Time;

constexpr Time kStart{};

RequestRef request(std::int64_t rows, Duration arrival,
                   Time deadline = Time::max(), std::vector<Dim> group = {}) {
  auto made = std::make_shared<Request>();
  made->rows = rows;
  made->arrival = kStart + arrival;
  made->deadline = deadline;
  made->group = std::move(group);
  return made;
}

BatchLimits limits(std::int64_t rows, Duration delay,
                   std::size_t waiting = 99) {
  return {.most_rows = rows, .delay = delay, .most_waiting = waiting};
}

TEST(BatchQueue, WaitsForOthersUntilTheDelayIsOver) {
  BatchQueue queue(limits(4, 10ms));
  EXPECT_FALSE(queue.ready_at());
  const auto first = request(1, 0ms);
  const auto second = request(1, 6ms);
  queue.push(first);
  queue.push(second);
  EXPECT_EQ(queue.ready_at(), kStart + 10ms);
  EXPECT_TRUE(queue.take(kStart + 9ms).empty());
  EXPECT_EQ(queue.take(kStart + 10ms), (std::vector{first, second}));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(BatchQueue, AFullBatchWaitsForNobody) {
  BatchQueue queue(limits(4, 10ms));
  for (int i = 0; i < 3; ++i) queue.push(request(1, i * 1ms));
  EXPECT_TRUE(queue.take(kStart + 3ms).empty());
  queue.push(request(1, 3ms));
  EXPECT_EQ(queue.take(kStart + 3ms).size(), 4u);
}

TEST(BatchQueue, NeverSplitsOrOvertakesARequest) {
  BatchQueue queue(limits(4, 0ms));
  const auto one = request(1, 0ms);
  const auto four = request(4, 1ms);
  const auto last = request(1, 2ms);
  for (const auto& each : {one, four, last}) queue.push(each);
  // The last one would fit beside the first, but it came behind the second.
  EXPECT_EQ(queue.take(kStart + 5ms), std::vector{one});
  EXPECT_EQ(queue.take(kStart + 5ms), std::vector{four});
  EXPECT_EQ(queue.take(kStart + 5ms), std::vector{last});
}

TEST(BatchQueue, TellsTheSizeOfWhatComesNext) {
  BatchQueue queue(limits(4, 10ms));
  for (const std::int64_t rows : {1, 2, 3}) {
    const auto each = request(rows, 0ms);
    each->elements = 100 * rows;
    queue.push(each);
  }
  EXPECT_EQ(queue.next(kStart - 1ms).rows, 0);
  EXPECT_EQ(queue.next(kStart).rows, 3);
  EXPECT_EQ(queue.next(kStart).elements, 300);
  EXPECT_EQ(queue.take(kStart).size(), 2u);
  EXPECT_EQ(queue.next(kStart).rows, 0);
  EXPECT_EQ(queue.next(kStart, /*is_hurried=*/true).elements, 300);
}

TEST(BatchQueue, TakesTheFirstOfMoreRowsThanAreWanted) {
  BatchQueue queue(limits(8, 0ms));
  const auto one = request(1, 0ms);
  const auto two = request(2, 0ms);
  const auto last = request(1, 0ms);
  for (const auto& each : {one, two, last}) queue.push(each);
  EXPECT_EQ(queue.take(kStart, false, 2), std::vector{one});
  // It runs with more than are wanted rather than never.
  EXPECT_EQ(queue.take(kStart, false, 1), std::vector{two});
  EXPECT_EQ(queue.take(kStart, false, 4), std::vector{last});
}

TEST(BatchQueue, ARequestLargerThanABatchRunsAlone) {
  BatchQueue queue(limits(4, 10ms));
  const auto large = request(9, 0ms);
  queue.push(large);
  queue.push(request(1, 0ms));
  EXPECT_EQ(queue.take(kStart), std::vector{large});
}

TEST(BatchQueue, GroupsRunApartAndTheOldestFirst) {
  BatchQueue queue(limits(8, 4ms));
  const auto a = request(1, 0ms, Time::max(), {3});
  const auto b = request(1, 1ms, Time::max(), {5});
  const auto c = request(1, 2ms, Time::max(), {3});
  for (const auto& each : {b, a, c}) queue.push(each);
  EXPECT_EQ(queue.take(kStart + 9ms), (std::vector{a, c}));
  EXPECT_EQ(queue.take(kStart + 9ms), std::vector{b});
}

TEST(BatchQueue, RefusesOneTooMany) {
  BatchQueue queue(limits(4, 10ms, 2));
  EXPECT_TRUE(queue.push(request(1, 0ms)));
  EXPECT_TRUE(queue.push(request(1, 0ms, Time::max(), {7})));
  EXPECT_FALSE(queue.push(request(1, 0ms)));
  queue.take(kStart + 10ms);
  EXPECT_TRUE(queue.push(request(1, 0ms)));
}

TEST(BatchQueue, ANearDeadlineShortensTheDelay) {
  BatchQueue queue(limits(4, 10ms));
  queue.push(request(1, 0ms));
  queue.push(request(1, 1ms, kStart + 5ms));
  EXPECT_EQ(queue.ready_at(), kStart + 3ms);
  EXPECT_EQ(queue.take(kStart + 3ms).size(), 2u);
}

TEST(BatchQueue, GivesUpWhatIsTooLate) {
  BatchQueue queue(limits(4, 100ms));
  const auto late = request(2, 0ms, kStart + 5ms);
  const auto kept = request(1, 0ms, kStart + 9ms);
  queue.push(late);
  queue.push(kept);
  EXPECT_EQ(queue.next_deadline(), kStart + 5ms);
  EXPECT_TRUE(queue.take_expired(kStart + 4ms).empty());
  EXPECT_EQ(queue.take_expired(kStart + 5ms), std::vector{late});
  EXPECT_EQ(queue.next_deadline(), kStart + 9ms);
  EXPECT_EQ(queue.take(kStart + 100ms), std::vector{kept});
  EXPECT_EQ(queue.next_deadline(), Time::max());
}

TEST(BatchQueue, WhoIsRemovedMakesNoBatchFull) {
  BatchQueue queue(limits(4, 10ms));
  const auto gone = request(3, 0ms);
  queue.push(gone);
  EXPECT_TRUE(queue.remove(*gone));
  EXPECT_FALSE(queue.remove(*gone));
  EXPECT_FALSE(queue.ready_at());
  queue.push(request(1, 1ms));
  EXPECT_TRUE(queue.take(kStart + 2ms).empty());
  EXPECT_EQ(queue.size(), 1u);
}

TEST(BatchQueue, HurriesWhenItIsTold) {
  BatchQueue queue(limits(4, 10ms));
  queue.push(request(1, 0ms));
  EXPECT_EQ(queue.ready_at(/*is_hurried=*/true), kStart);
  EXPECT_EQ(queue.take(kStart, /*is_hurried=*/true).size(), 1u);
}

}  // namespace
}  // namespace weft::batch_queue_test
