#include "weft/graph/known_ops.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::known_ops_test {
namespace {

TEST(KnownOp, IsTheEntryOfItsName) {
  EXPECT_TRUE(op_registry().get("while") == known::while_loop);
  EXPECT_TRUE(op_registry().get("scan") != known::while_loop);
}

TEST(KnownOp, ComparingWithANameThatNoOpHasIsAnError) {
  const KnownOp renamed("ad");
  test::expect_error(ErrorCode::kInvalidArgument, {"ad", "add"},
                     [&] { return op_registry().get("add") == renamed; });
}

}  // namespace
}  // namespace weft::known_ops_test
