#include "weft/compiler/op_facts.h"

#include <algorithm>
#include <array>

#include "weft/graph/kernel.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/registry.h"
#include "weft/kernels/loop/tile_functions.h"

namespace weft {
namespace {

constexpr std::array kDTypes{
    DType::kBool, DType::kU8,  DType::kI8,   DType::kI16, DType::kI32,
    DType::kI64,  DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

bool has_floats(const OpSample& sample) {
  const auto floats = [](const InputSample& input) {
    return is_floating(input.type.dtype);
  };
  return std::any_of(sample.inputs.begin(), sample.inputs.end(), floats);
}

// The sample with numbers of `dtype` in the place of floating ones: only of the
// first such operand if `one`, as others may have to stay f32. Where none is
// floating, the first operand and those of its dtype are meant.
OpSample in_dtype(OpSample sample, DType dtype, bool one) {
  const bool floats = has_floats(sample);
  for (auto& [name, value] : sample.attributes) {
    auto* named = std::get_if<DType>(&value);
    if (named != nullptr && is_floating(*named)) *named = dtype;
  }
  const DType first =
      sample.inputs.empty() ? dtype : sample.inputs[0].type.dtype;
  for (InputSample& input : sample.inputs) {
    DType& has = input.type.dtype;
    if (floats ? !is_floating(has) : has != first) continue;
    has = dtype;
    if (one) break;
  }
  return sample;
}

bool is_accepted(const OpDef& op, const OpSample& sample) {
  std::vector<TensorType> types;
  // Inference is what decides: there is no second list of dtypes that could
  // differ from it.
  for (const InputSample& input : sample.inputs) types.push_back(input.type);
  try {
    op.infer_types(types, op.complete(sample.attributes));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// What is drawn: of the dtype that an attribute names, or always of one.
std::vector<DType> drawn_dtypes(const OpDef& op, OpSample sample) {
  std::vector<DType> found;
  std::vector<TensorType> types;
  for (const InputSample& input : sample.inputs) types.push_back(input.type);
  sample.attributes = op.complete(sample.attributes);
  for (const DType dtype : kDTypes) {
    for (auto& [name, value] : sample.attributes) {
      if (std::holds_alternative<DType>(value)) value = dtype;
    }
    if (is_accepted(op, sample) &&
        op.infer_types(types, sample.attributes)[0].dtype == dtype) {
      found.push_back(dtype);
    }
  }
  return found;
}

std::vector<DType> dtypes_of(const OpDef& op) {
  std::vector<DType> found;
  if (op.samples() == nullptr) return found;
  const std::vector<OpSample> samples = op.samples()();
  if (op.has(kRandom) && !has_floats(samples.at(0))) {
    return drawn_dtypes(op, samples[0]);
  }
  for (const DType dtype : kDTypes) {
    const bool takes = std::any_of(
        samples.begin(), samples.end(), [&](const OpSample& sample) {
          return is_accepted(op, in_dtype(sample, dtype, false)) ||
                 is_accepted(op, in_dtype(sample, dtype, true));
        });
    if (takes) found.push_back(dtype);
  }
  return found;
}

std::string gradient_of(const OpDef& op) {
  if (op.has(kControl)) return "of its functions";
  if (op.has(kNoGradient)) return "none flows";
  return op.gradient() != nullptr ? "rule" : "lowered";
}

std::string batching_of(const OpDef& op) {
  if (op.batch() != nullptr) return "rule";
  return op.lower() != nullptr ? "lowered" : "none";
}

bool is_in_loops(const OpDef& op) {
  constexpr std::array kTypes{TileType::kF32, TileType::kI32, TileType::kI64,
                              TileType::kF64};
  return op == known::cast ||
         std::any_of(kTypes.begin(), kTypes.end(), [&](TileType type) {
           return find_tile_op(op.name(), type) != nullptr;
         });
}

std::vector<std::string> kernels_of(const OpDef& op) {
  std::vector<std::string> found;
  if (is_in_loops(op)) found.emplace_back("loop");
  for (const auto& candidate : kernel_registry().candidates(op.name())) {
    // Whether narrow floats are widened is the machine's affair.
    if (!candidate.widens) found.push_back(candidate.name);
  }
  if (op.reference() != nullptr) found.emplace_back("reference");
  if (op.lower() != nullptr) found.emplace_back("lowered");
  return found;
}

}  // namespace

OpFacts facts_of(const OpDef& op) {
  return {.name = op.name(),
          .signature = op.signature(),
          .summary = op.summary(),
          .dtypes = dtypes_of(op),
          .gradient = gradient_of(op),
          .batching = batching_of(op),
          .kernels = kernels_of(op)};
}

std::vector<OpFacts> all_op_facts() {
  std::vector<OpFacts> found;
  for (const OpDef& op : op_registry().all()) found.push_back(facts_of(op));
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

}  // namespace weft
