#include "weft/simulate/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

#include "tests/support/heap_use.h"

#include "weft/base/philox.h"

namespace weft::simulator_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using JobId = Simulator::JobId;

// A job after others.
JobId add(Simulator& simulator, const Simulator::Job& job,
          std::initializer_list<JobId> after = {}) {
  const JobId id = simulator.add_job(job);
  for (const JobId before : after) simulator.add_dependency(before, id);
  return id;
}

TEST(Simulator, ServesInTheOrderOfArrival) {
  Simulator simulator;
  const auto cpu = simulator.add_resource({});
  const auto late = simulator.add_job(
      {.resources = {cpu}, .seconds = 1, .priority = 9, .release = 2});
  const auto first = simulator.add_job({.resources = {cpu}, .seconds = 3});
  const auto second = simulator.add_job({.resources = {cpu}, .seconds = 1});
  simulator.run();
  EXPECT_EQ(simulator.start_of(first), 0);
  EXPECT_EQ(simulator.start_of(second), 3);
  EXPECT_EQ(simulator.start_of(late), 4);
  EXPECT_EQ(simulator.makespan(), 5);
  EXPECT_EQ(simulator.busy_seconds(cpu), 5);
}

TEST(Simulator, ALatencyDelaysTheEndButFreesTheLink) {
  Simulator simulator;
  const auto link = simulator.add_resource({.rate = 4, .latency = 10});
  const auto a = simulator.add_job({.resources = {link}, .bytes = 8});
  const auto b = simulator.add_job({.resources = {link}, .bytes = 4});
  const auto then = add(simulator, {.seconds = 1}, {a});
  simulator.run();
  EXPECT_EQ(simulator.end_of(a), 12);
  EXPECT_EQ(simulator.start_of(b), 2);
  EXPECT_EQ(simulator.end_of(b), 13);
  EXPECT_EQ(simulator.start_of(then), 12);
}

// Layers 1, 2, 3 of one step each forward and backward, whose gradients take
// 1, 1, 3 on the link: the example of P3 (Jayarajan et al., MLSys 2019), from
// the first backward to the last forward.
double iteration(const Simulator::Resource& wire, int pieces) {
  Simulator simulator;
  const auto cpu = simulator.add_resource({});
  const auto link = simulator.add_resource(wire);
  const double sync[] = {1, 1, 3};
  std::vector<JobId> forward;
  for (int layer = 0; layer < 3; ++layer) {
    forward.push_back(simulator.add_job({.resources = {cpu}, .seconds = 1}));
    if (layer > 0) simulator.add_dependency(forward[layer - 1], forward[layer]);
  }
  JobId before = Simulator::kNone;
  for (int layer = 2; layer >= 0; --layer) {
    const JobId backward =
        simulator.add_job({.resources = {cpu}, .seconds = 1});
    if (layer < 2) simulator.add_dependency(before, backward);
    before = backward;
    for (int piece = 0; piece < pieces; ++piece) {
      const JobId message = add(simulator,
                                {.resources = {link},
                                 .bytes = sync[layer] / pieces,
                                 .priority = -layer},
                                {backward});
      simulator.add_dependency(message, forward[static_cast<size_t>(layer)]);
    }
  }
  simulator.run();
  return simulator.makespan();
}

TEST(Simulator, PrioritiesAndSlicesOfAnIteration) {
  EXPECT_EQ(iteration({.queueing = Queueing::kFirstCome}, 1), 9);
  EXPECT_EQ(iteration({.queueing = Queueing::kFirstCome}, 2), 9);
  EXPECT_EQ(iteration({.queueing = Queueing::kPriority}, 1), 8);
  EXPECT_EQ(iteration({.queueing = Queueing::kSliced, .slice = 0.5}, 1), 7);
}

TEST(Simulator, AJobInSlicesGoesOnWhereItStopped) {
  Simulator simulator(true);
  const auto link =
      simulator.add_resource({.queueing = Queueing::kSliced, .slice = 1});
  const auto low = simulator.add_job({.resources = {link}, .seconds = 3.5});
  const auto high = simulator.add_job(
      {.resources = {link}, .seconds = 1.25, .priority = 1, .release = 1.5});
  simulator.run();
  EXPECT_EQ(simulator.start_of(high), 2);
  EXPECT_EQ(simulator.end_of(high), 3.25);
  EXPECT_EQ(simulator.end_of(low), 4.75);
  EXPECT_EQ(simulator.busy_seconds(link), 4.75);
  const auto busy = simulator.intervals();
  ASSERT_EQ(busy.size(), 3u);
  EXPECT_EQ(busy[0].job, low);
  EXPECT_EQ(busy[0].end, 2);
  EXPECT_EQ(busy[1].job, high);
  EXPECT_EQ(busy[2].job, low);
  EXPECT_EQ(busy[2].start, 3.25);
}

TEST(Simulator, AMessageHoldsBothCardsAtTheRateOfTheSlower) {
  Simulator simulator;
  const auto out = simulator.add_resource({.rate = 8});
  const auto in = simulator.add_resource({.rate = 2});
  const auto other = simulator.add_resource({.rate = 8});
  const auto a = simulator.add_job({.resources = {out, in}, .bytes = 4});
  const auto b = simulator.add_job({.resources = {other, in}, .bytes = 4});
  // Passes b, which lacks a card.
  const auto c = simulator.add_job({.resources = {other}, .bytes = 8});
  simulator.run();
  EXPECT_EQ(simulator.end_of(a), 2);
  EXPECT_EQ(simulator.start_of(c), 0);
  EXPECT_EQ(simulator.start_of(b), 2);
  EXPECT_EQ(simulator.end_of(b), 4);
  EXPECT_THAT(simulator.critical_path(), ElementsAre(a, b));
}

// Sender a to receivers x and y, sender b to x: what x cannot take yet waits
// in the switch, and neither keeps a from y nor lets b's go later.
TEST(Simulator, AMessageThroughASwitchIsTwoJobs) {
  Simulator simulator;
  const auto a = simulator.add_resource({.rate = 1});
  const auto b = simulator.add_resource({.rate = 1});
  const auto x = simulator.add_resource({.rate = 1});
  const auto y = simulator.add_resource({.rate = 1});
  const auto send = [&](int out, int in, double bytes) {
    const auto first = simulator.add_job({.resources = {out}, .bytes = bytes});
    const auto then = simulator.add_job({.resources = {in}, .bytes = bytes});
    simulator.add_start_dependency(first, then);
    return then;
  };
  const auto b_to_x = send(b, x, 5);
  const auto a_to_x = send(a, x, 3);
  const auto a_to_y = send(a, y, 2);
  simulator.run();
  EXPECT_EQ(simulator.start_of(b_to_x), 0);
  EXPECT_EQ(simulator.start_of(a_to_x), 5);
  EXPECT_EQ(simulator.end_of(a_to_x), 8);
  EXPECT_EQ(simulator.start_of(a_to_y), 3);
  EXPECT_EQ(simulator.end_of(a_to_y), 5);
  EXPECT_THAT(simulator.critical_path(),
              ElementsAre(b_to_x - 1, b_to_x, a_to_x));
}

TEST(Simulator, FlowsShareAFairResource) {
  Simulator simulator(true);
  const auto link = simulator.add_resource(
      {.rate = 2, .latency = 1, .queueing = Queueing::kFair});
  const auto send = [&](int flow, double bytes, double release = 0) {
    return simulator.add_job({.resources = {link},
                              .bytes = bytes,
                              .release = release,
                              .flow = flow});
  };
  const auto a = send(0, 4);     // alone until 1, one of two until 3
  const auto b = send(1, 6, 1);  // has half of the rate until 7
  const auto behind_a = send(0, 4);
  const auto late = send(0, 2, 10);
  simulator.run();
  EXPECT_EQ(simulator.end_of(a), 3 + 1);
  EXPECT_EQ(simulator.start_of(b), 1);
  EXPECT_EQ(simulator.start_of(behind_a), 3);
  EXPECT_EQ(simulator.end_of(b), 7 + 1);
  EXPECT_EQ(simulator.end_of(behind_a), 7 + 1);
  EXPECT_EQ(simulator.start_of(late), 10);
  EXPECT_EQ(simulator.makespan(), 11 + 1);
  EXPECT_EQ(simulator.busy_seconds(link), 8);
  EXPECT_EQ(simulator.intervals().size(), 4u);
}

// Whatever comes when, a fair resource does no less than others do, and gives
// nobody less than a share.
TEST(Simulator, JobsOfAFlowTakeTurnsAsTheyWereAdded) {
  Simulator simulator;
  const auto cpu = simulator.add_resource({});
  const auto link = simulator.add_resource({.queueing = Queueing::kFair});
  const auto before = simulator.add_job({.resources = {cpu}, .seconds = 1});
  std::vector<JobId> messages;
  for (int i = 0; i < 3; ++i) {
    messages.push_back(
        add(simulator, {.resources = {link}, .seconds = 2}, {before}));
  }
  simulator.run();
  EXPECT_EQ(simulator.start_of(messages[0]), 1);
  EXPECT_EQ(simulator.start_of(messages[1]), 3);
  EXPECT_EQ(simulator.start_of(messages[2]), 5);
}

TEST(Simulator, FairResourcesAreNeverIdleAndNeverUnjust) {
  constexpr int kFlows = 4;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RandomStream random{seed};
    Simulator fair;
    Simulator first_come;
    const auto link = fair.add_resource({.queueing = Queueing::kFair});
    first_come.add_resource({});
    std::vector<Simulator::Job> jobs;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const auto word = random.word(i);
      jobs.push_back({.resources = {link},
                      .seconds = static_cast<double>(1 + word % 8),
                      .release = static_cast<double>(word >> 8 & 127),
                      .flow = static_cast<int>(word >> 16) % kFlows});
      fair.add_job(jobs.back());
      first_come.add_job(jobs.back());
    }
    fair.run();
    first_come.run();
    EXPECT_NEAR(fair.makespan(), first_come.makespan(), 1e-9);
    EXPECT_NEAR(fair.busy_seconds(link), first_come.busy_seconds(link), 1e-9);
    for (JobId job = 0; job < fair.jobs(); ++job) {
      const double seconds = jobs[static_cast<std::size_t>(job)].seconds;
      const double took = fair.end_of(job) - fair.start_of(job);
      EXPECT_GE(took, seconds - 1e-9);
      EXPECT_LE(took, kFlows * seconds + 1e-9);
    }
  }
}

TEST(Simulator, StartsOfOneMomentFollowOnEachOther) {
  Simulator simulator;
  const auto cpu = simulator.add_resource({});
  const auto first = simulator.add_job({.seconds = 4});
  JobId before = first;
  for (int i = 0; i < 5; ++i) {
    const auto then = simulator.add_job({.seconds = 1});
    simulator.add_start_dependency(before, then);
    before = then;
  }
  const auto last = simulator.add_job({.resources = {cpu}, .seconds = 1});
  simulator.add_start_dependency(before, last);
  simulator.run();
  EXPECT_EQ(simulator.start_of(last), 0);
  EXPECT_EQ(simulator.makespan(), 4);
}

TEST(Simulator, PeakMemoryCountsEndsBeforeStarts) {
  Simulator simulator;
  const auto cpu = simulator.add_resource({});
  const auto job = [&](std::int64_t at_start, std::int64_t at_end) {
    return Simulator::Job{
        .resources = {cpu}, .seconds = 1, .memory = {cpu, at_start, at_end}};
  };
  add(simulator, job(100, -100));
  add(simulator, job(70, -20));   // 50 stay
  add(simulator, job(80, -130));  // 130 at once
  add(simulator, job(90, -90));
  simulator.run();
  EXPECT_EQ(simulator.peak_memory(cpu), 130);
}

// o1 -> o2 on two devices: a pass of an operator takes 4, of a half 2; the
// tensor between them has 8 bytes, o1's weights 16, a link moves 4 per second.
// Three placements of Jia et al. by hand.
class TwoOperators : public testing::Test {
 protected:
  JobId compute(int device, double seconds,
                std::initializer_list<JobId> after) {
    return add(simulator_,
               {.resources = {devices_[device]}, .seconds = seconds}, after);
  }
  JobId move(int from, double bytes, std::initializer_list<JobId> after) {
    return add(simulator_, {.resources = {links_[from]}, .bytes = bytes},
               after);
  }
  double time() {
    simulator_.run();
    return simulator_.makespan();
  }

  Simulator simulator_;
  int devices_[2] = {simulator_.add_resource({}), simulator_.add_resource({})};
  int links_[2] = {simulator_.add_resource({.rate = 4}),
                   simulator_.add_resource({.rate = 4})};
};

TEST_F(TwoOperators, DataParallel) {
  JobId backward[2];
  for (int device = 0; device < 2; ++device) {
    const auto f1 = compute(device, 2, {});
    const auto f2 = compute(device, 2, {f1});
    const auto b2 = compute(device, 2, {f2});
    backward[device] = compute(device, 2, {b2});
  }
  const auto sync = move(1, 2 * 16, {backward[1]});
  compute(0, 0, {backward[0], sync});
  EXPECT_EQ(time(), 16);
}

TEST_F(TwoOperators, OneOperatorPerDevice) {
  const auto f1 = compute(0, 4, {});
  const auto f2 = compute(1, 4, {move(0, 8, {f1})});
  const auto b2 = compute(1, 4, {f2});
  compute(0, 4, {move(1, 8, {b2})});
  EXPECT_EQ(time(), 20);
}

TEST_F(TwoOperators, OnlyTheSecondIsSplit) {
  const auto f1 = compute(0, 4, {});
  const auto near = compute(0, 2, {f1});
  const auto far = compute(1, 2, {move(0, 4, {f1})});
  const auto near_back = compute(0, 2, {near});
  const auto far_back = compute(1, 2, {far});
  compute(0, 4, {near_back, move(1, 4, {far_back})});
  EXPECT_EQ(time(), 14);
}

// A random graph on `devices` processors; `order` renames them.
struct RandomGraph {
  std::vector<int> device;
  std::vector<double> seconds;
  std::vector<std::pair<int, int>> edges;

  explicit RandomGraph(std::uint64_t seed, int jobs = 300, int devices = 5) {
    const RandomStream random{seed};
    std::uint64_t next = 0;
    const auto below = [&](int limit) {
      return static_cast<int>(random.word(next++) %
                              static_cast<std::uint32_t>(limit));
    };
    for (int job = 0; job < jobs; ++job) {
      device.push_back(below(devices));
      seconds.push_back(1 + below(8));
      for (int i = below(3); job > 0 && i > 0; --i) {
        edges.emplace_back(below(job), job);
      }
    }
  }

  void build(Simulator& simulator, const std::vector<int>& order) const {
    for (std::size_t job = 0; job < device.size(); ++job) {
      simulator.add_job(
          {.resources = {order[static_cast<std::size_t>(device[job])]},
           .seconds = seconds[job]});
    }
    for (const auto& [before, after] : edges) {
      simulator.add_dependency(before, after);
    }
  }
  double longest_path() const {
    std::vector<double> end = seconds;  // edges are in the order of `after`
    for (std::size_t job = 0; job < end.size(); ++job) {
      double start = 0;
      for (const auto& [before, after] : edges) {
        if (after != static_cast<int>(job)) continue;
        start = std::max(start, end[static_cast<std::size_t>(before)]);
      }
      end[job] = start + seconds[job];
    }
    return *std::max_element(end.begin(), end.end());
  }
};

TEST(Simulator, BoundsAndRelabellingOfRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RandomGraph graph(seed);
    Simulator simulator;
    Simulator relabelled;
    for (int device = 0; device < 5; ++device) {
      simulator.add_resource({});
      relabelled.add_resource({});
    }
    graph.build(simulator, {0, 1, 2, 3, 4});
    graph.build(relabelled, {3, 0, 4, 1, 2});
    simulator.run();
    relabelled.run();
    EXPECT_GE(simulator.makespan(), graph.longest_path());
    double load = 0;
    for (int device = 0; device < 5; ++device) {
      EXPECT_GE(simulator.makespan(), simulator.busy_seconds(device));
      load += simulator.busy_seconds(device);
    }
    EXPECT_EQ(load,
              std::accumulate(graph.seconds.begin(), graph.seconds.end(), 0.0));
    for (JobId job = 0; job < simulator.jobs(); ++job) {
      EXPECT_EQ(simulator.start_of(job), relabelled.start_of(job));
    }
    for (const auto& [before, after] : graph.edges) {
      EXPECT_GE(simulator.start_of(after), simulator.end_of(before));
    }
    // Each job of the critical path starts at the end of the one before.
    double time = 0;
    for (const JobId job : simulator.critical_path()) {
      EXPECT_EQ(simulator.start_of(job), time);
      time = simulator.end_of(job);
    }
    EXPECT_EQ(time, simulator.makespan());
  }
}

#if WEFT_COUNTS_ALLOCATIONS
TEST(Simulator, AllocatesNothingTheSecondTime) {
  const RandomGraph graph(1);
  Simulator simulator(true);
  for (int device = 0; device < 5; ++device) simulator.add_resource({});
  const std::vector<int> order = {0, 1, 2, 3, 4};
  graph.build(simulator, order);
  simulator.run();
  const double first = simulator.makespan();
  simulator.clear_jobs();
  const auto before = test::heap_use();
  graph.build(simulator, order);
  simulator.run();
  EXPECT_EQ(test::heap_use().own, before.own);
  EXPECT_EQ(simulator.makespan(), first);
}
#endif

TEST(Simulator, StepsTakeJobsInAnswerToEvents) {
  Simulator simulator;
  const auto link = simulator.add_resource({.latency = 1});
  simulator.add_job({.resources = {link}, .seconds = 2});
  int left = 100;
  double released = 0;
  while (const auto event = simulator.step()) {
    if (event->kind == Simulator::Event::Kind::kReleased) {
      released = simulator.now();
      continue;
    }
    EXPECT_EQ(simulator.now(), released + 1);
    simulator.forget(event->job);
    if (--left > 0) simulator.add_job({.resources = {link}, .seconds = 2});
  }
  EXPECT_EQ(simulator.now(), 300);
  EXPECT_EQ(simulator.jobs(), 1);  // one number, 100 times
}

TEST(Simulator, RefusesJobsInACircle) {
  Simulator simulator;
  const auto cpu = simulator.add_resource({});
  const auto fine = simulator.add_job({.resources = {cpu}, .seconds = 1});
  const auto a = add(simulator, {.resources = {cpu}, .seconds = 1}, {fine});
  const auto b = add(simulator, {.resources = {cpu}, .seconds = 1}, {a});
  simulator.add_dependency(b, a);
  try {
    simulator.run();
    FAIL() << "the circle was not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("2 jobs wait for each other"));
    EXPECT_THAT(error.what(), HasSubstr("among them: 1, 2"));
  }
}

TEST(Simulator, RefusesNumbersWithoutMeaning) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Simulator simulator;
  for (const double rate : {0.0, -1.0, nan}) {
    EXPECT_THROW(simulator.add_resource({.rate = rate}), Error);
  }
  EXPECT_THROW(simulator.add_resource({.latency = -1}), Error);
  EXPECT_THROW(simulator.add_resource({.slice = 0}), Error);
  EXPECT_THROW(simulator.add_job({.seconds = nan}), Error);
  EXPECT_THROW(simulator.add_job({.bytes = -1}), Error);
  EXPECT_THROW(simulator.add_job({.release = -1}), Error);
}

}  // namespace
}  // namespace weft::simulator_test
