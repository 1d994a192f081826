// What is recorded of a run, and what its trace says.
#include "weft/base/profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/runtime/jit/jit.h"
#include "weft/runtime/profile_totals.h"
#include "weft/runtime/trace_file.h"

namespace weft::profile_test {
namespace {

using Form = ProfileEvent::Form;

std::vector<ProfileEvent> kernels_of(std::vector<ProfileEvent> events) {
  std::erase_if(events, [](const ProfileEvent& event) {
    return event.kind->category != "kernel";
  });
  return events;
}

TEST(Profile, RecordsEachStepOfAPlanAndEachEagerOp) {
  const Value a = Tensor::zeros({DType::kF32, {32, 48}});
  const Value b = Tensor::zeros({DType::kF32, {48, 16}});
  const auto product =
      jit([](const Value& x, const Value& y) { return tanh(matmul(x, y)); });
  product(a, b);  // planned
  matmul(a, b);
  Profile profile;
  product(a, b);
  const auto staged = kernels_of(profile.take());
  matmul(a, b);
  const auto eager = kernels_of(profile.take());
  ASSERT_GE(staged.size(), 1u);
  ASSERT_EQ(eager.size(), 1u);
  EXPECT_EQ(staged[0].kind->name, "matmul");
  for (const ProfileEvent& event : {staged[0], eager[0]}) {
    EXPECT_EQ(event.kind->flops, 2.0 * 32 * 48 * 16);
    EXPECT_GE(event.kind->bytes, 4.0 * (32 * 48 + 48 * 16 + 32 * 16));
    EXPECT_FALSE(event.kind->detail.empty());
    EXPECT_GE(event.end, event.begin);
    EXPECT_EQ(event.thread, profile::this_thread());
  }
}

TEST(Profile, RecordsNothingWhereNoneLives) {
  const SpanKindRef kind = span_kind({"work", "kernel"});
  { const ProfiledSpan span(kind); }
  Profile profile;
  EXPECT_TRUE(profile.take().empty());
  test::expect_error(ErrorCode::kInvalidArgument, {"another one"},
                     [] { Profile second; });
  { const ProfiledSpan span(kind); }
  std::thread([&] { const ProfiledSpan span(kind); }).join();
  const auto events = profile.take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_NE(events[0].thread, events[1].thread);
}

// A span that began before the profile ended is over without it.
TEST(Profile, MayEndWithinASpan) {
  const SpanKindRef kind = span_kind({"work", "kernel"});
  std::optional<Profile> profile(std::in_place);
  {
    const ProfiledSpan span(kind);
    profile.reset();
  }
  profile.emplace();
  EXPECT_TRUE(profile->take().empty());
}

std::vector<ProfileEvent> sample() {
  const auto product =
      span_kind({"matmul", "kernel", "onednn:matmul", 2e9, 1e6});
  const auto message = span_kind({"send", "network", "ring of 'w'", 0, 4e6});
  const auto arena = span_kind({"arena", "memory"});
  return {{product, Form::kSpan, 0, 1, 1.5},
          {product, Form::kSpan, 0, 2, 2.5},
          {message, Form::kMessage, 1, 1.25, 3},
          {arena, Form::kQuantity, 0, 1, 1, 5e6}};
}

TEST(Profile, TotalsAddUpWhatIsAlike) {
  const ProfileTotals totals = totals_of(sample());
  ASSERT_EQ(totals.spans.size(), 1u);
  EXPECT_EQ(totals.spans[0].calls, 2);
  EXPECT_DOUBLE_EQ(totals.spans[0].seconds, 1);
  EXPECT_DOUBLE_EQ(totals.spans[0].flops, 4e9);
  ASSERT_EQ(totals.messages.size(), 1u);
  EXPECT_DOUBLE_EQ(totals.seconds, 2);
  EXPECT_DOUBLE_EQ(totals.arena_bytes, 5e6);
  // 4 GF in a second: a tenth of the one roof, a thousandth of the other.
  EXPECT_DOUBLE_EQ(share_of_roof(totals.spans[0], {4e10, 2e9}), 0.1);
  const std::string text = profile_text(totals, {4e10, 2e9});
  EXPECT_NE(text.find("onednn:matmul"), std::string::npos) << text;
  EXPECT_NE(text.find(" 10 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("fewer multiplications"), std::string::npos) << text;
}

// Operands that a cache holds are above memory's roof; only sums that were
// never taken are above that of multiply-adds.
TEST(Profile, SaysWhyAKernelIsAboveTheRoof) {
  const ProfileTotals totals = totals_of(sample());
  EXPECT_EQ(above_roof_text(totals, {4e10, 1e3}), "");
  EXPECT_NE(profile_text(totals, {2e9, 2e9}).find("fewer multiplications"),
            std::string::npos);
}

TEST(Profile, TracesComeBackAsTheyWere) {
  const test::TemporaryFolder folder;
  write_trace(folder / "trace.json", sample());
  const std::string text = read_text(folder / "trace.json");
  // The whole is JSON, and each message has two ends.
  int ends = 0;
  for (const auto& event : nlohmann::json::parse(text)) {
    ends += event["ph"] == "b" || event["ph"] == "e";
  }
  EXPECT_EQ(ends, 2);
  const std::string killed = text.substr(0, text.rfind("\n]") - 20);
  for (const std::string& each : {text, killed}) {
    const auto events = parse_trace(each, "trace");
    ASSERT_GE(events.size(), 3u);
    EXPECT_EQ(events[0].kind, events[1].kind);
    EXPECT_EQ(events[0].kind->detail, "onednn:matmul");
    EXPECT_EQ(events[0].kind->flops, 2e9);
    EXPECT_NEAR(events[1].end, 2.5, 1e-6);
    EXPECT_EQ(events[2].form, Form::kMessage);
    EXPECT_NEAR(events[2].end, 3, 1e-6);
  }
  EXPECT_EQ(parse_trace(text, "trace").back().value, 5e6);
  for (const char* wrong :
       {"", "[", "{}\n]\n", "[{\"ph\": \"Q\"}]\n", "[3]\n"}) {
    test::expect_error(ErrorCode::kDataLoss, {"here"},
                       [&] { parse_trace(wrong, "here"); });
  }
}

TEST(Profile, SaysThatATraceIsNotWritten) {
  // As a disk that is full.
  test::expect_error(ErrorCode::kUnavailable, {"/dev/full", "as a whole"},
                     [] { write_trace("/dev/full", sample()); });
}

TEST(Profile, KnowsWhatTheMachineCanDo) {
  const MachineRoof& roof = machine_roof();
  // Slower than any processor with AVX2, faster than any.
  EXPECT_GT(roof.flops_per_second, 1e9);
  EXPECT_LT(roof.flops_per_second, 1e16);
  EXPECT_GT(roof.bytes_per_second, 1e8);
  EXPECT_LT(roof.bytes_per_second, 1e14);
}

}  // namespace
}  // namespace weft::profile_test
