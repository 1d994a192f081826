#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/graph/builder.h"
#include "weft/graph/program.h"
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

// What inference asks of a body is asked of each step where ops run at once.
TEST(Scan, RefusesABodyThatDoesNotKeepWhatItCarries) {
  const Value start = Tensor::scalar(1.0f);
  const Values rows{Tensor::zeros({DType::kF32, {2}})};
  const auto expect_refused = [&](std::initializer_list<std::string> parts,
                                  const ScanBody& body) {
    const auto scan_them = [&] { scan({start, start}, rows, body); };
    test::expect_error(ErrorCode::kInvalidArgument, parts, scan_them);
    Program program;
    FunctionBuilder& builder = program.builder("staged");
    builder.build([&] {
      test::expect_error(ErrorCode::kInvalidArgument, parts, scan_them);
      return Values{start};
    });
  };
  expect_refused(
      {"scan", "returns 1 values, but 2 are carried"},
      [](const Values& carried, const Values&) { return Values{carried[0]}; });
  expect_refused({"scan", "value 1 is f32[], but becomes f32[1]"},
                 [](const Values& carried, const Values&) {
                   return Values{carried[0], reshape(carried[1], {1})};
                 });
}

TEST(Scan, RefusesOutputsThatDifferFromStepToStep) {
  const Value start = Tensor::scalar(1.0f);
  int steps = 0;
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"scan", "outputs of two steps"}, [&] {
                       scan({start}, {Tensor::zeros({DType::kF32, {2}})},
                            [&](const Values& carried, const Values&) {
                              Values results{carried[0], carried[0]};
                              if (++steps == 2) results.pop_back();
                              return results;
                            });
                     });
}

}  // namespace
}  // namespace weft::scan_test
