#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/graph/builder.h"
#include "weft/ops/control.h"
#include "weft/ops/ops.h"

namespace weft::scan_test {
namespace {

using Values = std::vector<Value>;

Values keep(const Values& carried, const Values&) { return carried; }

// Says the same where ops run at once and where they become nodes.
void refused(const std::string& reason, const Values& scanned) {
  const auto scan_them = [&] { scan({scanned.at(0)}, scanned, keep); };
  test::expect_error(ErrorCode::kInvalidArgument, {"scan", reason}, scan_them);
}

TEST(Scan, WithoutAnythingToScanSaysHow) {
  const Value start = Tensor::scalar(1.0f);
  const auto scan_nothing = [&] { scan({start}, {}, keep); };
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"scan", "nothing to scan", "iota()"}, scan_nothing);
  FunctionBuilder builder("staged");
  builder.build([&] {
    test::expect_error(ErrorCode::kInvalidArgument,
                       {"scan", "nothing to scan", "iota()"}, scan_nothing);
    return Values{start};
  });
}

TEST(Scan, RefusesWhatHasNoStepsInCommon) {
  refused("a scalar", {Tensor::scalar(1.0f)});
  refused("leading axis", {Tensor::zeros({DType::kF32, {3}}),
                           Tensor::zeros({DType::kF32, {4}})});
}

}  // namespace
}  // namespace weft::scan_test
