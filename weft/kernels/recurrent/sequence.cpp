#include "weft/kernels/recurrent/sequence.h"

#include <algorithm>

#include "weft/kernels/recurrent/sequences.h"

namespace weft::recurrent {
namespace {

PanelLayout layout_of(const SequenceShape& shape, std::size_t units,
                      std::size_t rows) {
  return {shape.weights, rows,  shape.weight_blocks(),
          shape.hidden,  units, group_of(shape.weights)};
}

std::size_t line_aligned_words(std::size_t words) {
  constexpr std::size_t kLineWords = 64 / sizeof(float);
  return (words + kLineWords - 1) / kLineWords * kLineWords;
}

}  // namespace

std::string to_string(const LoopParameters& parameters) {
  return fmt::format("{} units, {} chains, {} steps ahead, {} threads",
                     parameters.units, parameters.chains, parameters.ahead,
                     parameters.threads);
}

PanelLayout input_layout(const SequenceShape& shape, std::size_t units) {
  return layout_of(shape, units, shape.inputs);
}
PanelLayout state_layout(const SequenceShape& shape, std::size_t units) {
  return layout_of(shape, units, shape.hidden);
}

std::size_t scratch_bytes(const SequenceShape& shape,
                          const LoopParameters& parameters) {
  // A scale for each row, and rows in words of the format. Those of f32 are
  // read where they lie.
  const std::size_t rows = parameters.ahead * shape.batch;
  std::size_t words = 0;
  if (shape.weights != DType::kF32) {
    words =
        std::max(rows * input_layout(shape, parameters.units).groups(),
                 shape.batch * state_layout(shape, parameters.units).groups());
  }
  return (line_aligned_words(rows) + line_aligned_words(words)) * sizeof(float);
}

SequenceFunction find_sequence(const SequenceShape& shape,
                               const LoopParameters& parameters) {
  switch (shape.weights) {
    case DType::kF32:
      return find_sequence_f32(shape, parameters);
    case DType::kBF16:
      return find_sequence_bf16(shape, parameters);
    case DType::kI8:
      return find_sequence_i8(shape, parameters);
    default:
      return nullptr;
  }
}

void run_sequence(const Sequence& sequence,
                  SequenceFunction function) noexcept {
  run_team(sequence.parameters.threads,
           [&](TeamMember& self) { function(sequence, self); });
}

}  // namespace weft::recurrent
