// Whatever [sync] may say is run or refused.
#include "tests/train/sync_combinations.h"

namespace weft::all_combinations_slow_test {
namespace {

using namespace sync_combinations;

TEST(AllCombinationsSlow, AreRunOrRefused) { run_or_refuse(Run::kAll); }

}  // namespace
}  // namespace weft::all_combinations_slow_test
