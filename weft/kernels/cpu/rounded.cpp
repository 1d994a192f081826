// Where no kernel computes in bf16 or f16 on this machine: the operands become
// f32, the best kernel of f32 runs, and its results are rounded once. Only the
// plain reference would take such a call otherwise, an element at a time.
#include <algorithm>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/kernels/loop/tile_functions.h"

namespace weft {
namespace {

bool is_half(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

bool has_half(std::span<const TensorType> types) {
  return std::ranges::any_of(types, is_half, &TensorType::dtype);
}

std::vector<TensorType> widened(std::span<const TensorType> types) {
  std::vector<TensorType> wide(types.begin(), types.end());
  for (TensorType& type : wide) {
    if (is_half(type.dtype)) type.dtype = DType::kF32;
  }
  return wide;
}

// Calls convert(begin, count) for pieces of [0, size), in parallel.
template <class Convert>
void in_pieces(std::int64_t size, Convert&& convert) {
  constexpr std::int64_t kPiece = 4096;
  constexpr std::int64_t kPiecesPerThread = 8;
  parallel_for((size + kPiece - 1) / kPiece, kPiecesPerThread,
               [&](std::int64_t begin, std::int64_t end) {
                 convert(begin * kPiece,
                         std::min(end * kPiece, size) - begin * kPiece);
               });
}

class RoundedKernel : public PreparedKernel {
 public:
  RoundedKernel(const OpCall& call, KernelChoice inner)
      : inner_(std::move(inner)),
        inputs_(call.inputs.size()),
        outputs_(call.outputs.size()) {
    // Each part begins at the alignment that kernels expect of their operands.
    scratch_bytes_ = aligned(inner_.kernel->scratch_bytes());
    plan(call.inputs, widened_inputs_);
    plan(call.outputs, rounded_outputs_);
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  std::string implementation() const override {
    return inner_.implementation.empty()
               ? inner_.name
               : inner_.name + ", " + inner_.implementation;
  }

  void run(const KernelBuffers& buffers) noexcept override {
    // Operands that are not narrow are used where they lie.
    std::copy_n(buffers.inputs, inputs_.size(), inputs_.begin());
    std::copy_n(buffers.outputs, outputs_.size(), outputs_.begin());
    for (const Converted& each : widened_inputs_) {
      float* wide = each.in(buffers.scratch);
      const auto* half =
          static_cast<const std::byte*>(buffers.inputs[each.index]);
      in_pieces(each.size, [&](std::int64_t begin, std::int64_t count) {
        load_tile(each.dtype, half + begin * kHalfBytes, wide + begin, count);
      });
      inputs_[each.index] = wide;
    }
    for (const Converted& each : rounded_outputs_) {
      outputs_[each.index] = each.in(buffers.scratch);
    }
    inner_.kernel->run({inputs_.data(), outputs_.data(), buffers.scratch});
    for (const Converted& each : rounded_outputs_) {
      const float* wide = each.in(buffers.scratch);
      auto* half = static_cast<std::byte*>(buffers.outputs[each.index]);
      in_pieces(each.size, [&](std::int64_t begin, std::int64_t count) {
        store_tile(each.dtype, wide + begin, half + begin * kHalfBytes, count);
      });
    }
  }

 private:
  static constexpr std::int64_t kHalfBytes = 2;

  struct Converted {
    std::size_t index;  // which operand or result
    DType dtype;
    std::int64_t size;
    std::size_t offset;  // where its f32 form lies, in bytes of scratch

    float* in(void* scratch) const {
      return reinterpret_cast<float*>(static_cast<std::byte*>(scratch) +
                                      offset);
    }
  };

  static std::size_t aligned(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  // The kernel's own scratch memory comes first.
  void plan(std::span<const TensorType> types, std::vector<Converted>& out) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (!is_half(types[i].dtype)) continue;
      const std::int64_t size = types[i].shape.num_elements();
      out.push_back({i, types[i].dtype, size, scratch_bytes_});
      scratch_bytes_ += aligned(static_cast<std::size_t>(size) * sizeof(float));
    }
  }

  KernelChoice inner_;
  std::vector<Converted> widened_inputs_;
  std::vector<Converted> rounded_outputs_;
  std::size_t scratch_bytes_ = 0;
  std::vector<void*> inputs_;  // what the run is given
  std::vector<void*> outputs_;
};

std::optional<std::string> rounded_declines(const OpCall& call) {
  if (!has_half(call.inputs)) return "no operand is bf16 or f16";
  // Their references draw in the dtype of the result.
  if (call.op.has(kRandom)) return "draws random numbers";
  // The question is put to the same candidates, for the call as it would be in
  // f32.
  const auto inputs = widened(call.inputs);
  const auto outputs = widened(call.outputs);
  const OpCall wide{call.op, inputs, call.attributes, outputs};
  const auto& candidates = kernel_registry().candidates(call.op.name());
  const bool is_taken = std::ranges::any_of(candidates, [&](const auto& each) {
    return each.declines == nullptr || !each.declines(wide);
  });
  // The plain reference serves narrow dtypes just as well.
  if (!is_taken) return "no kernel takes it in f32 either";
  return std::nullopt;
}

std::unique_ptr<PreparedKernel> prepare_rounded(const OpCall& call) {
  const auto inputs = widened(call.inputs);
  const auto outputs = widened(call.outputs);
  return std::make_unique<RoundedKernel>(
      call, choose_kernel({call.op, inputs, call.attributes, outputs}));
}

}  // namespace

void register_cpu_rounded(KernelRegistry& kernels) {
  kernels.add_to_all({.op = {},
                      .name = "f32, rounded",
                      // Every kernel that takes the narrow dtype itself is
                      // asked first.
                      .rank = 1,
                      .declines = rounded_declines,
                      .prepare = prepare_rounded,
                      .widens = true});
}

}  // namespace weft
