// Workloads, unlocking, and schedulers over time.
#include "weft/privacy/simulation.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/privacy/curve_zoo.h"
#include "weft/privacy/draws.h"
#include "weft/privacy/grant_program.h"
#include "weft/privacy/mechanism.h"

namespace weft::budget_simulation_test {
namespace {

using namespace weft::privacy;
using test::expect_error;

Workload workload_of(std::string_view text, std::uint64_t seed = 1) {
  const WorkloadCall call = parse_workload(text);
  return call.def->make(call.options, seed);
}

SimulationResult run(const Workload& workload, std::string_view scheduler,
                     const SimulationRules& rules = {}) {
  return simulate(workload, parse_scheduler(scheduler), rules);
}

double share_of(std::string_view rule, double time, std::int64_t claims = 0) {
  return parse_unlocking(rule).share({time, claims});
}

TEST(Unlocking, NeverFallsAndEndsWithAll) {
  for (const char* rule :
       {"all", "time", "time(lifetime=7, steps=3)", "claims(count=90)"}) {
    double last = 0;
    for (int i = 0; i <= 1000; ++i) {
      const double share = share_of(rule, i * 0.1, i);
      EXPECT_GE(share, last) << rule;
      last = share;
    }
    EXPECT_EQ(last, 1) << rule;
  }
}

TEST(Unlocking, StepsByHand) {
  EXPECT_EQ(share_of("time(lifetime=30, steps=1)", 29.99), 0);
  EXPECT_EQ(share_of("time(lifetime=30, steps=1)", 30), 1);
  EXPECT_EQ(share_of("time(lifetime=30, steps=1000)", 0.03), 0.001);
  EXPECT_EQ(share_of("time(lifetime=30, steps=1000)", 15), 0.5);
  EXPECT_EQ(share_of("claims(count=4)", 0, 3), 0.75);
  EXPECT_EQ(share_of("all", 0), 1);
}

TEST(CurveZoo, HasItsCurves) {
  const RenyiCurve room = capacity({10, 1e-7}, budget_orders());
  EXPECT_EQ(curve_zoo(true).size(), 620);
  EXPECT_EQ(curve_zoo(false).size(), 524);
  for (const NormalizedCurve& curve : normalized_zoo(room, true)) {
    EXPECT_GT(curve.shares[curve.best], 0.01);
    EXPECT_LT(curve.shares[curve.best], 1);
  }
}

TEST(CurveZoo, BendsToWhatIsAskedFor) {
  const RenyiCurve room = capacity({10, 1e-7}, budget_orders());
  for (const NormalizedCurve& curve : normalized_zoo(room, false)) {
    const RenyiCurve bent = bent_curve(curve, room, 0.02, 0.3);
    std::map<double, double> shares;
    double least = HUGE_VAL;
    for (std::size_t a = 0; a < room.size(); ++a) {
      shares[room.orders()[a]] = bent[a] / room[a];
      least = std::min(least, bent[a] / room[a]);
    }
    EXPECT_NEAR(least, 0.02, 1e-12);
    EXPECT_NEAR(bent[curve.best] / room[curve.best], least, 1e-12);
    const auto [low, high] =
        std::minmax({shares[4], shares[5], shares[6], shares[8]});
    EXPECT_NEAR(high - low, 0.3, 1e-12);
  }
}

TEST(Simulation, StudiesAreThoseOfTheAuthors) {
  // Tasks granted by dpk and dpf, of 300 on 20 blocks, over three seeds.
  const auto granted = [](const char* workload, const char* scheduler) {
    double sum = 0;
    for (const std::uint64_t seed : {1, 2, 3}) {
      const auto result =
          run(workload_of(workload, seed), scheduler, {.seed = seed});
      sum += static_cast<double>(result.grants.size()) / 3;
      EXPECT_LE(result.epsilon, 10);
    }
    return sum;
  };
  EXPECT_NEAR(granted("block_study(std=0)", "dpk"), 39, 1);
  EXPECT_NEAR(granted("block_study(std=0)", "dpf"), 36, 1.5);
  EXPECT_NEAR(granted("block_study(std=4)", "dpk"), 73, 3);
  EXPECT_NEAR(granted("block_study(std=4)", "dpf"), 42, 3);
  EXPECT_NEAR(granted("block_study(std=8)", "dpk"), 90, 4);
  EXPECT_NEAR(granted("block_study(std=8)", "dpf"), 48, 3);
  EXPECT_NEAR(granted("order_study(std=0)", "dpk"), 200, 0.5);
  EXPECT_NEAR(granted("order_study(std=0)", "dpf"), 200, 0.5);
  EXPECT_GE(granted("order_study(std=2)", "dpk"),
            1.5 * granted("order_study(std=2)", "dpf"));
}

TEST(Simulation, IsSafeAndTheSameEachTime) {
  for (const char* text :
       {"power_law(tasks=20, more_blocks=20, first_blocks=20)",
        "block_study(std=3, tasks=100)", "order_study(std=3, tasks=100)"}) {
    for (const char* scheduler : {"dpk", "dpk(recompute=50)", "dpf", "fcfs"}) {
      for (const char* unlocking :
           {"all", "time(lifetime=10, steps=7)", "claims(count=30)"}) {
        Workload workload = workload_of(text, 3);
        workload.unlocking = unlocking;
        const auto first = run(workload, scheduler);
        const auto again = run(workload, scheduler);
        // That each grant was within what was unlocked is checked inside.
        EXPECT_LE(first.epsilon, workload.budget.epsilon);
        ASSERT_EQ(first.grants.size(), again.grants.size());
        for (std::size_t i = 0; i < first.grants.size(); ++i)
          EXPECT_EQ(first.grants[i].task, again.grants[i].task);
      }
    }
  }
}

// Blocks at 0, 1, 2; tasks that want one or more.
Workload by_hand() {
  Workload workload{.first_blocks = 1,
                    .more_blocks = 2,
                    .every = 1,
                    .unlocking = "time(lifetime=2, steps=2)",
                    .tasks = {}};
  const RenyiCurve room = capacity(workload.budget, budget_orders());
  const auto add = [&](double arrival, std::size_t blocks, double share) {
    workload.tasks.push_back({arrival, blocks, share * room});
  };
  add(0, 1, 0.5);    // of the first block, once half of it is unlocked
  add(0, 2, 0.1);    // of a block that is not there
  add(1.5, 2, 0.5);  // of the first two
  add(1.6, 1, 0.9);  // of the second: only when the third is not left
  return workload;
}

TEST(Simulation, ByHand) {
  const auto result = run(by_hand(), "fcfs");
  EXPECT_EQ(result.refused, 1);
  ASSERT_EQ(result.grants.size(), 2);
  EXPECT_EQ(result.grants[0].task, 0);
  EXPECT_EQ(result.grants[0].time, 1);
  // Half of the second block is unlocked at 2, and all of the first.
  EXPECT_EQ(result.grants[1].task, 2);
  EXPECT_EQ(result.grants[1].time, 2);
  EXPECT_DOUBLE_EQ(result.mean_delay, 0.75);
  EXPECT_EQ(result.weight, 2);
  EXPECT_EQ(run(by_hand(), "fcfs", {.patience = 0.9}).left, 2);
  // Halves are one of two shares, nine tenths are not.
  const auto fair = run(by_hand(), "fcfs", {.fair_shares = 2});
  EXPECT_EQ(fair.fair, 2);
  EXPECT_EQ(fair.fair_granted, 2);
}

TEST(Simulation, ChoosesBlocks) {
  Workload workload{.first_blocks = 50, .tasks = {}};
  const RenyiCurve room = capacity(workload.budget, budget_orders());
  // Each takes all of its blocks: as many are granted as share none.
  for (int i = 0; i < 10; ++i) workload.tasks.push_back({0, 25, room});
  workload.choice = BlockChoice::kLatest;
  EXPECT_EQ(run(workload, "fcfs").grants.size(), 1);
  for (SimulatedTask& task : workload.tasks) task.blocks = 50;
  for (const auto choice :
       {BlockChoice::kUniform, BlockChoice::kContiguous, BlockChoice::kZipf}) {
    workload.choice = choice;
    EXPECT_EQ(run(workload, "fcfs").grants.size(), 1);
  }
  for (SimulatedTask& task : workload.tasks) task.blocks = 1;
  const auto granted = [&](BlockChoice choice) {
    workload.choice = choice;
    return run(workload, "fcfs").grants.size();
  };
  EXPECT_GT(granted(BlockChoice::kUniform), 7);
  EXPECT_LT(granted(BlockChoice::kZipf), granted(BlockChoice::kUniform));
}

TEST(Draws, AreUniformAndNormal) {
  Draws draws(1, 2);
  double sum = 0;
  double squares = 0;
  std::vector<int> counts(4);
  const std::vector<double> weights = {1, 0, 2, 5};
  for (int i = 0; i < 100'000; ++i) {
    const double x = draws.normal();
    sum += x;
    squares += x * x;
    ++counts[draws.by_weight(weights)];
    EXPECT_LT(draws.below(3), 3);
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.03);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2] / 1e5, 0.25, 0.01);
}

class Files : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  std::string folder() const { return folder_.path().string(); }

 private:
  test::TemporaryFolder folder_;
};

constexpr const char* kTraceHeading =
    "name,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n";

TEST_F(Files, TracesBecomeTasks) {
  // As in clusters, few jobs are far larger than all others.
  std::string trace = kTraceHeading;
  trace += "cpu,90000,0,0,20000,2000000\ngpu,90000,1,1000,20000,2000000\n";
  for (int i = 0; i < 400; ++i)
    trace +=
        fmt::format("pod-{},{},{},{},{},{}\n", i, 1000 + i % 17 * 100, i % 2,
                    i % 2 * 1000, 100 * i, 100 * i + 50 + i % 13 * 10);
  const std::string call =
      fmt::format("alibaba(file=\"{}\", more_blocks=10, clusters=2)",
                  write("t.csv", trace));
  const Workload workload = workload_of(call);
  EXPECT_GT(workload.tasks.size(), 100);
  EXPECT_TRUE(std::is_sorted(
      workload.tasks.begin(), workload.tasks.end(),
      [](const auto& a, const auto& b) { return a.arrival < b.arrival; }));
  const RenyiCurve room = capacity(workload.budget, budget_orders());
  for (const SimulatedTask& task : workload.tasks) {
    EXPECT_GE(task.arrival, 0);
    EXPECT_LE(task.arrival, 11);
    EXPECT_LE(task.blocks, 100);
    double least = HUGE_VAL;
    for (std::size_t a = 0; a < room.size(); ++a)
      if (room[a] > 0) least = std::min(least, task.demand[a] / room[a]);
    EXPECT_GE(least, 0.001);
    EXPECT_LE(least, 1);
  }
  EXPECT_EQ(workload_of(call).tasks.size(), workload.tasks.size());
}

TEST_F(Files, DamagedTracesAreNamed) {
  const auto fails = [&](const std::string& text, std::string what) {
    const std::string call =
        fmt::format("alibaba(file=\"{}\")", write("t.csv", text));
    expect_error(ErrorCode::kDataLoss, {"t.csv:", std::move(what)},
                 [&] { workload_of(call); });
  };
  const std::string heading = kTraceHeading;
  fails("", "empty");
  fails(heading + "a,1,1,1,1\n", "5 cells below 6 names");
  fails(heading + "a,1,1,1,9,1\n", "ends before it begins");
  fails(heading + "a,x,1,1,1,2\n", "'x' is no memory_mib");
  fails(heading + "a,1e300,1,1,1,2\n", "memory_mib");
  fails("name\na\n", "no column creation_time");
  expect_error(ErrorCode::kInvalidArgument, {"the trace's file"},
               [] { workload_of("alibaba"); });
}

std::string pipeline(const std::string& last = "12.0") {
  std::string text = "alphas:\n";
  for (const double order : budget_orders().all())
    text += fmt::format("- {}\n", order);
  text += "n_blocks: 250\nepsilon: 1.0\nrdp_epsilons:\n";
  for (int i = 1; i < 12; ++i) text += fmt::format("- {}.5e-2\n", i);
  return text + "- " + last + "\ntask: product\n";
}

TEST_F(Files, PipelinesBecomeTasks) {
  write("mice-laplace/a.yaml", pipeline());
  write("elephants/b.yaml", pipeline("14"));
  const Workload workload = workload_of(
      fmt::format("privatekube(folder=\"{}\", tasks=20)", folder()));
  EXPECT_NEAR(static_cast<double>(workload.tasks.size()), 20 * 51, 150);
  double mice = 0;
  for (const SimulatedTask& task : workload.tasks) {
    EXPECT_EQ(task.blocks, 3);
    EXPECT_DOUBLE_EQ(task.demand[0], 0.015);
    mice += task.demand[11] == 12 ? 1 : 0;
  }
  EXPECT_NEAR(mice / static_cast<double>(workload.tasks.size()), 0.75, 0.05);
}

TEST_F(Files, DamagedPipelinesAreNamed) {
  const std::string call = fmt::format("privatekube(folder=\"{}\")", folder());
  expect_error(ErrorCode::kUnavailable, {"mice*/*.yaml", "PrivateKube"},
               [&] { workload_of(call); });
  write("elephants/b.yaml", pipeline());
  for (const char* last : {"x", "-1", "nan", ""}) {
    write("mice-gaussian/a.yaml", pipeline(last));
    expect_error(ErrorCode::kDataLoss, {"a.yaml", "no number"},
                 [&] { workload_of(call); });
  }
  write("mice-gaussian/a.yaml", "n_blocks: 3\n");
  expect_error(ErrorCode::kDataLoss, {"a.yaml", "alphas"},
               [&] { workload_of(call); });
}

// One block of which ten tasks ask, one in each unit of time, with room for
// all.
Workload one_block() {
  Workload workload;
  workload.every = 1;
  workload.more_blocks = 9;
  workload.choice = BlockChoice::kLatest;
  for (int i = 0; i < 10; ++i) {
    RenyiCurve demand(budget_orders());
    workload.tasks.push_back({.arrival = i + 0.5, .demand = demand});
  }
  return workload;
}

TEST(Simulation, RetiresBlocks) {
  const Workload workload = one_block();
  EXPECT_EQ(run(workload, "fcfs").grants.size(), 10u);
  // A block is a unit old when the next comes: none that is younger is asked.
  EXPECT_EQ(run(workload, "fcfs", {.lifetime = 0.25}).refused, 10u);
  EXPECT_EQ(run(workload, "fcfs", {.lifetime = 2}).grants.size(), 10u);
  // What is unlocked only after a block has retired is given to nobody.
  Workload late = workload;
  late.unlocking = "time(lifetime=100, steps=1)";
  const RenyiCurve little =
      renyi_curve(parse_mechanisms("gaussian(noise=20)"), budget_orders());
  for (SimulatedTask& task : late.tasks) task.demand = little;
  const SimulationResult expired = run(late, "fcfs", {.lifetime = 3});
  EXPECT_EQ(expired.grants.size(), 0u);
  EXPECT_EQ(expired.expired, 10u);
  EXPECT_EQ(run(late, "fcfs").expired, 0u);
  // All that come at once ask of one block, which is given twice.
  Workload once = one_block();
  once.every = 0;
  once.more_blocks = 0;
  for (SimulatedTask& task : once.tasks) task.arrival = 0;
  for (const char* scheduler : {"fcfs", "dpk", "dpf"}) {
    const SimulationResult few = run(once, scheduler, {.grants = 2});
    EXPECT_EQ(few.grants.size(), 2u) << scheduler;
    EXPECT_EQ(few.expired, 8u) << scheduler;
  }
}

// Who schedules over time grants no more than what is possible of all that is
// ever asked, whatever is unlocked when.
TEST(Simulation, StaysBelowTheBound) {
  for (const char* text : {"block_study(std=4, tasks=60, blocks=8, mean=4)",
                           "power_law(tasks=20, more_blocks=5)"}) {
    const Workload workload = workload_of(text);
    const double most = most_grantable(all_that_is_asked(workload, {}), 60);
    for (const char* scheduler : {"dpk", "dpf", "fcfs"}) {
      const double weight = run(workload, scheduler).weight;
      EXPECT_GT(weight, 0);
      EXPECT_LE(weight, most + 1e-6) << text << ' ' << scheduler;
    }
  }
  expect_error(ErrorCode::kInvalidArgument, {"retire after 3 grants"}, [] {
    all_that_is_asked(workload_of("block_study(std=4)"), {.grants = 3});
  });
}

}  // namespace
}  // namespace weft::budget_simulation_test
