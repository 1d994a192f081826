#include "weft/base/team.h"

#include <gtest/gtest.h>
#include <vector>

#include "weft/base/parallel.h"

namespace weft::team_test {
namespace {

class TeamTest : public ::testing::Test {
 protected:
  ~TeamTest() override { set_thread_count(before_); }

 private:
  int before_ = thread_count();
};

TEST_F(TeamTest, MembersShareAllOfARange) {
  for (const int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    for (const std::int64_t size : {0, 1, 2, 7, 100}) {
      std::vector<int> visits(static_cast<std::size_t>(size), 0);
      run_team(threads, [&](TeamMember& self) {
        for (std::int64_t i = self.begin(size); i < self.end(size); ++i) {
          ++visits[static_cast<std::size_t>(i)];
        }
      });
      for (const int count : visits) EXPECT_EQ(count, 1);
    }
  }
}

TEST_F(TeamTest, IsNoLargerThanWasAskedFor) {
  set_thread_count(4);
  int count = 0;
  run_team(2, [&](TeamMember& self) {
    if (self.rank() == 0) count = self.count();
  });
  EXPECT_LE(count, 2);
  EXPECT_GE(count, 1);
}

TEST_F(TeamTest, InsideOfATeamIsTheCallerAlone) {
  set_thread_count(2);
  run_team(2, [](TeamMember& outer) {
    int inner = 0;
    run_team(2, [&](TeamMember& self) { inner += self.count(); });
    // A team of its own would leave the outer one without its cores.
    if (outer.count() > 1) {
      EXPECT_EQ(inner, 1);
    }
  });
}

// What each wrote before a meeting all read after it; a member that ran ahead
// by a round would read what is not there yet, or overwrite what is.
void expect_rounds_in_step(int threads, int rounds) {
  set_thread_count(threads);
  std::vector<int> written(static_cast<std::size_t>(threads), -1);
  std::vector<int> wrong(static_cast<std::size_t>(threads), 0);
  run_team(threads, [&](TeamMember& self) {
    const auto own = static_cast<std::size_t>(self.rank());
    for (int round = 0; round < rounds; ++round) {
      written[own] = round;
      self.meet();
      for (int other = 0; other < self.count(); ++other) {
        wrong[own] += written[static_cast<std::size_t>(other)] != round;
      }
      self.meet();
    }
  });
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

TEST_F(TeamTest, MeetsOftenWithoutADeadlock) {
  expect_rounds_in_step(2, 200'000);
}

// More threads than the machine has cores.
TEST_F(TeamTest, MeetsWhereThreadsShareCores) { expect_rounds_in_step(9, 300); }

}  // namespace
}  // namespace weft::team_test
