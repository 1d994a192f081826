// Kernels of f32 that stand in where none computes in bf16 or f16.
#include <algorithm>

#include "tests/support/against_reference.h"

#include "weft/base/error.h"

namespace weft::rounded_test {
namespace {

constexpr const char* kRounded = "f32, rounded";

// The sample with its f32 operands as `dtype`, or nothing if the op wants them
// in f32.
std::optional<OpSample> in_dtype(const std::string& op, OpSample sample,
                                 DType dtype) {
  bool is_changed = false;
  for (InputSample& input : sample.inputs) {
    if (input.type.dtype != DType::kF32) continue;
    input.type.dtype = dtype;
    is_changed = true;
  }
  if (!is_changed) return std::nullopt;
  try {
    const Call call(op, sample);
  } catch (const Error&) {
    return std::nullopt;
  }
  return sample;
}

// Calls body(op, sample in f32, the same in bf16 or f16).
template <class Body>
void for_each_half_sample(Body&& body) {
  for (const OpDef& op : op_registry().all()) {
    if (op.samples() == nullptr || op.reference() == nullptr) continue;
    if (op.has(kRandom)) continue;
    for (const OpSample& sample : op.samples()()) {
      for (const DType dtype : {DType::kBF16, DType::kF16}) {
        const auto half = in_dtype(op.name(), sample, dtype);
        if (half) body(op.name(), sample, *half);
      }
    }
  }
}

TEST(RoundedKernel, AgreesWithTheReference) {
  int taken = 0;
  for_each_half_sample(
      [&](const std::string& op, const OpSample&, const OpSample& half) {
        if (kernel_registry().candidates(op).empty()) return;
        taken += agrees_with_reference(op, kRounded, half, 1e-2);
      });
  EXPECT_GT(taken, 100);
}

TEST(RoundedKernel, LeavesNothingToTheReferenceThatF32DoesNot) {
  for_each_half_sample([&](const std::string& op, const OpSample& sample,
                           const OpSample& half) {
    const Call wide(op, sample);
    if (choose_kernel(wide.get()).name == "reference") return;
    const Call call(op, half);
    EXPECT_NE(choose_kernel(call.get()).name, "reference") << call.describe();
  });
}

TEST(RoundedKernel, NamesWhatComputes) {
  const Call call(
      "matmul", {{{{DType::kF16, {64, 128}}}, {{DType::kF16, {128, 64}}}}, {}});
  const KernelChoice choice = choose_kernel(call.get());
  EXPECT_EQ(choice.name, kRounded);
  EXPECT_TRUE(choice.description().starts_with("f32, rounded (onednn:"))
      << choice.description();
  EXPECT_NE(std::ranges::find(choice.declined,
                              "onednn:matmul: computes in f32 and bf16, not in "
                              "f16"),
            choice.declined.end());
}

}  // namespace
}  // namespace weft::rounded_test
