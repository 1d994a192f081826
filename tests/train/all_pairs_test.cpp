// As many combinations of what [sync] may say are run as it takes for each pair
// of two kinds to have been together; so is every pair of a policy and an
// order.
#include "tests/train/sync_combinations.h"

namespace weft::all_pairs_test {
namespace {

using namespace sync_combinations;

// Each policy and order meet, with all that decides when things travel.
TEST(AllPairs, OfOrdersAreRunOrRefused) {
  set_thread_count(1);
  std::set<std::string> run;
  for (const std::string& policy : policies()) {
    for (const std::string& order : names(sync_order_registry())) {
      for (int choice = 0; choice < 32; ++choice) {
        SyncRecipe recipe = small_recipe();
        recipe.policy = policy;
        recipe.order = order;
        recipe.slices = (choice & 1) != 0;
        recipe.credit = (choice & 2) != 0 ? 512 : 0;
        recipe.overlap_forward = (choice & 4) != 0;
        recipe.overlap = (choice & 8) == 0;
        recipe.servers = (choice & 16) != 0 ? 1 : 0;
        SCOPED_TRACE(fmt::format("{} {} {}", policy, order, choice));
        if (is_refused(recipe)) continue;
        train(recipe);
        run.insert(fmt::format("{} {}", policy, order));
      }
    }
  }
  std::size_t pairs = 0;
  for (const std::string& policy : policies()) {
    SyncRecipe recipe;
    recipe.policy = policy;
    // Where nothing travels there is no order but the default.
    pairs += policy_of(recipe).def->shares_model
                 ? 1
                 : names(sync_order_registry()).size();
  }
  EXPECT_EQ(run.size(), pairs);
}

TEST(AllPairs, AreRunOrRefused) { run_or_refuse(Run::kNewPairs); }

}  // namespace
}  // namespace weft::all_pairs_test
