// The optimum of chains, against a search through all that could be done.
#include "weft/compiler/checkpoint_chain.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <queue>
#include <random>
#include <set>

namespace weft::checkpoint_chain_test {
namespace {

// What there is at a moment: the inputs of stages that are kept (bits), the
// stages whose saved values are there (bits), one input that is about to be
// read, and the stages that have still to run backward.
struct Moment {
  unsigned inputs = 0;
  unsigned saved = 0;
  std::size_t moving = 0;  // the stage that reads it; 0: none
  std::size_t left = 0;
  auto operator<=>(const Moment&) const = default;
};

// Dijkstra's algorithm over moments: no recursion, no table, and no idea of how
// a good schedule looks. What is kept stays until its stage has run backward.
class EverySchedule {
 public:
  EverySchedule(const std::vector<ChainStage>& stages, std::size_t limit)
      : stages_(stages), limit_(limit) {}

  double least_seconds() {
    visit({1, 0, 0, stages_.size()}, 0);
    while (!waiting_.empty()) {
      const auto [seconds, now] = waiting_.top();
      waiting_.pop();
      if (!done_.insert(now).second) continue;
      if (now.left == 0) return seconds;
      backward(now, seconds);
      for (std::size_t s = 0; s < now.left; ++s) {
        if (now.inputs >> s & 1u || now.moving == s) run(now, s, seconds);
      }
    }
    return std::numeric_limits<double>::infinity();
  }

 private:
  void visit(const Moment& moment, double seconds) {
    waiting_.emplace(seconds, moment);
  }

  // The output of a stage whose values are saved is among them.
  std::size_t held(const Moment& now) const {
    std::size_t bytes = 0;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (now.saved >> s & 1u) {
        bytes += stages_[s].saved;
      } else if (now.inputs >> (s + 1) & 1u) {
        bytes += stages_[s].output;
      }
    }
    return bytes;
  }

  void backward(const Moment& now, double seconds) {
    const std::size_t s = now.left - 1;
    if ((now.saved >> s & 1u) == 0 || (now.inputs >> s & 1u) == 0) return;
    if (now.moving != 0) return;
    const std::size_t around = held(now) - stages_[s].saved;
    if (around + stages_[s].backward > limit_) return;
    Moment next = now;
    next.saved &= ~(1u << s);
    // Its input goes, unless it is among what the stage before has saved.
    next.inputs &= (1u << s) - 1;
    if (s > 0 && (next.saved >> (s - 1) & 1u)) next.inputs |= 1u << s;
    next.left = s;
    visit(next, seconds);
  }

  void run(const Moment& now, std::size_t s, double seconds) {
    if (now.saved >> s & 1u) return;
    const ChainStage& stage = stages_[s];
    const bool is_kept = now.inputs >> s & 1u;
    // A moving input that something else is made instead of is lost.
    const std::size_t moving =
        now.moving == s && !is_kept ? stages_[s - 1].output : 0;
    const std::size_t beside = moving + stages_[now.left - 1].gradient;
    if (held(now) + beside + stage.forward > limit_) return;
    if (s + 1 < now.left && (now.inputs >> (s + 1) & 1u) == 0) {
      Moment next = now;
      next.moving = s + 1;
      if (held(next) + stage.output <= limit_) {
        visit(next, seconds + stage.seconds);
      }
      // The same, and the output is kept.
      next.moving = 0;
      next.inputs |= 1u << (s + 1);
      if (held(next) <= limit_) visit(next, seconds + stage.seconds);
    }
    if (!is_kept) return;
    Moment next = now;
    next.moving = 0;
    next.saved |= 1u << s;
    next.inputs |= 1u << (s + 1);
    if (held(next) <= limit_) visit(next, seconds + stage.seconds);
  }

  using Entry = std::pair<double, Moment>;
  const std::vector<ChainStage>& stages_;
  std::size_t limit_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting_;
  std::set<Moment> done_;
};

// What a schedule takes, run action by action.
double seconds_of(const ChainSchedule& schedule,
                  const std::vector<ChainStage>& stages) {
  double seconds = 0;
  for (const ChainAction& action : schedule.actions) {
    if (action.kind != ChainAction::kBackward) {
      seconds += stages[action.stage].seconds;
    }
  }
  return seconds;
}

std::vector<ChainStage> random_chain(std::mt19937& random, std::size_t count,
                                     bool is_even) {
  const auto below = [&](unsigned limit) {
    return static_cast<std::size_t>(random() % limit);
  };
  std::vector<ChainStage> stages;
  for (std::size_t i = 0; i < count; ++i) {
    ChainStage stage;
    stage.seconds = static_cast<double>(1 + below(9));
    stage.output = is_even ? 4 : 1 + below(6);
    stage.saved = stage.output + (is_even ? 4 : below(8));
    stage.forward = stage.saved + below(3);
    stage.backward = stage.saved + below(3);
    // There is nothing behind the last one.
    if (i + 1 < count) stage.gradient = below(4);
    stages.push_back(stage);
  }
  return stages;
}

TEST(CheckpointChain, RunsOnceWhereThereIsRoom) {
  const std::vector<ChainStage> stages(3, {1, 4, 8, 8, 8, 0});
  const auto schedule = checkpoint_chain(stages, 24);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->seconds, 3);
  using A = ChainAction;
  EXPECT_EQ(schedule->actions, (std::vector<A>{{A::kForwardSaving, 0},
                                               {A::kForwardSaving, 1},
                                               {A::kForwardSaving, 2},
                                               {A::kBackward, 2},
                                               {A::kBackward, 1},
                                               {A::kBackward, 0}}));
}

// Four equal stages: with room for one stage's values and one checkpoint, the
// first two run again.
TEST(CheckpointChain, KeepsTheMiddleOfEqualStages) {
  const std::vector<ChainStage> stages(4, {1, 1, 4, 4, 4, 0});
  EXPECT_EQ(checkpoint_chain(stages, 16)->seconds, 4);
  EXPECT_EQ(checkpoint_chain(stages, 13)->seconds, 5);
  EXPECT_EQ(checkpoint_chain(stages, 9)->seconds, 6);
  EXPECT_FALSE(checkpoint_chain(stages, 3));
}

TEST(CheckpointChain, IsTheBestOfAllSchedules) {
  std::mt19937 random(7);
  int feasible = 0;
  for (int round = 0; round < 400; ++round) {
    const auto stages = random_chain(random, 2 + random() % 4, round % 2 == 0);
    std::size_t all = 0;
    for (const ChainStage& stage : stages) all += stage.saved;
    // Every limit is below the number of slots, so that nothing is rounded.
    for (std::size_t limit = 1; limit <= all + 2; ++limit) {
      const double least = EverySchedule(stages, limit).least_seconds();
      const auto schedule = checkpoint_chain(stages, limit);
      ASSERT_EQ(schedule.has_value(), std::isfinite(least))
          << round << ", " << limit;
      if (!schedule) continue;
      ++feasible;
      ASSERT_EQ(schedule->seconds, least) << round << ", " << limit;
      ASSERT_EQ(seconds_of(*schedule, stages), least);
    }
  }
  EXPECT_GT(feasible, 1000);
}

}  // namespace
}  // namespace weft::checkpoint_chain_test
