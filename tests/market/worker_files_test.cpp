// What a job leaves on a disk while it runs is read by the worker's account of
// the system alone.
#include <gtest/gtest.h>

#include "tests/market/scene.h"
#include "tests/support/temporary_folder.h"

#include "weft/market/job_data.h"
#include "weft/market/stage_states.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

TEST(WorkerFiles, AreReadByNobodyElse) {
  const TemporaryFolder folder;
  const auto is_open_to_owner_alone = [](const fs::path& path) {
    return fs::status(path).permissions() == fs::perms::owner_all;
  };
  {
    const market::Scratch scratch(folder / "scratch");
    EXPECT_TRUE(is_open_to_owner_alone(folder / "scratch"));
  }
  EXPECT_FALSE(fs::exists(folder / "scratch"));
  const market::StateKeeper states(folder / "states",
                                   MarketScene::account("machine"));
  EXPECT_TRUE(is_open_to_owner_alone(folder / "states"));
}

}  // namespace
}  // namespace weft::test
