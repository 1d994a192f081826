// Weights of a recurrent layer as its loop reads them: for each block of units
// a panel, which is one stream of memory.
//
// A panel holds, group by group of `group` rows, the columns of all gates of
// its units; the numbers of a group lie side by side, as instructions for dot
// products want them. Rows and units that are missing at the end are 0.
//
// Weights of i8 have a scale for each column, so that w ≈ scale q with q from
// -127 to 127; for instructions that take the other operand without a sign,
// there are offsets, which undo that 128 was added to it.
//
// Threads: pure functions; shared_panels() is safe from any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/tensor/tensor.h"

namespace weft::recurrent {

struct PanelLayout {
  DType dtype = DType::kF32;  // or bf16 or i8
  std::size_t rows = 0;       // of the weights: inputs, or hidden units
  std::size_t gates = 0;      // blocks of columns
  std::size_t hidden = 0;     // columns of each
  std::size_t units = 0;      // of a panel
  std::size_t group = 1;      // rows that lie side by side

  std::size_t groups() const { return (rows + group - 1) / group; }
  std::size_t panels() const { return (hidden + units - 1) / units; }
  std::size_t columns() const { return gates * units; }
  std::size_t panel_bytes() const {
    return groups() * group * columns() * size_of(dtype);
  }
  // All panels take so many, and scales and offsets behind them; a multiple of
  // 64.
  std::size_t bytes() const;

  bool operator==(const PanelLayout&) const = default;
};

// Rows that lie side by side on this machine: the instruction for dot products
// of bf16 takes two, that for i8 four where there is one, else two.
std::size_t group_of(DType dtype);

// Where panels lie.
class Panels {
 public:
  Panels() = default;
  Panels(const PanelLayout& layout, const std::byte* memory);

  const std::byte* panel(std::size_t index) const {
    return memory_ + index * panel_bytes_;
  }
  // Those of i8 have one for each column of the panel.
  const float* scales(std::size_t index) const {
    return scales_ + index * columns_;
  }
  const std::int32_t* offsets(std::size_t index) const {
    return offsets_ + index * columns_;
  }
  std::size_t groups() const { return groups_; }

 private:
  const std::byte* memory_ = nullptr;
  const float* scales_ = nullptr;
  const std::int32_t* offsets_ = nullptr;
  std::size_t panel_bytes_ = 0;
  std::size_t columns_ = 0;
  std::size_t groups_ = 0;
};

// Fills the layout's bytes at `to` from w: [rows, gates, hidden]. A column of
// i8 that holds what is no number has NaN for a scale.
void pack(const PanelLayout& layout, const float* w, std::byte* to);

// The panels of weights that never change: see graph/shared_packing.h.
std::shared_ptr<const Tensor> shared_panels(const PanelLayout& layout,
                                            const Tensor& w);

}  // namespace weft::recurrent
