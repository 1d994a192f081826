#include "weft/comm/transport/launcher.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <string>

namespace weft::launcher_test {
namespace {

constexpr const char* kNames[] = {"SLURM_STEP_ID", "SLURM_PROCID",
                                  "SLURM_NTASKS",  "PMIX_RANK",
                                  "PMI_RANK",      "OMPI_COMM_WORLD_SIZE"};

// Sets these of the variables that count and unsets the others, for a while.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& values) {
    for (const char* name : kNames) {
      if (const char* value = std::getenv(name)) before_[name] = value;
    }
    set(values);
  }
  ~Environment() { set(before_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void set(const std::map<std::string, std::string>& values) {
    for (const char* name : kNames) {
      const auto found = values.find(name);
      if (found == values.end()) {
        unsetenv(name);
      } else {
        setenv(name, found->second.c_str(), 1);
      }
    }
  }

  std::map<std::string, std::string> before_;
};

bool is_launched_with(const std::map<std::string, std::string>& values) {
  const Environment here(values);
  return is_launched();
}

TEST(Launcher, KnowsWhoStartedIt) {
  EXPECT_FALSE(is_launched_with({}));
  EXPECT_TRUE(is_launched_with({{"OMPI_COMM_WORLD_SIZE", "4"}}));
  EXPECT_TRUE(is_launched_with({{"PMI_RANK", "0"}}));
  // The script of a batch job is no task.
  EXPECT_FALSE(is_launched_with({{"SLURM_PROCID", "0"}}));
  EXPECT_TRUE(
      is_launched_with({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}}));
}

TEST(Launcher, WarnsOfTasksThatCannotMeet) {
  const std::map<std::string, std::string> bare = {
      {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}};
  {
    const Environment here(bare);
    EXPECT_NE(launch_warning().find("srun --mpi=pmix"), std::string::npos);
  }
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"PMIX_RANK", "0"}, {"PMI_RANK", "0"}, {"SLURM_NTASKS", "1"}}) {
    auto values = bare;
    values[name] = value;
    const Environment here(values);
    EXPECT_EQ(launch_warning(), "") << name;
  }
  const Environment here({});
  EXPECT_EQ(launch_warning(), "");
}

}  // namespace
}  // namespace weft::launcher_test
