#include "weft/train/step/touched_parts.h"

#include <algorithm>

#include "weft/ops/support/indexing.h"

namespace weft {

TouchedParts::TouchedParts(const StepDescription& description)
    : look_up_(description, StepCut::kLookUp),
      whole_(whole_parameters(description.tensors(EntryRole::kParameter))) {
  for (const NamedTensor& named : description.tensors(EntryRole::kParameter)) {
    const Shape& shape = named.tensor.shape();
    heights_.push_back(shape.rank() > 0 ? shape[0] : 1);
  }
}

std::span<const ParameterPart> TouchedParts::of(std::span<const Tensor> inputs,
                                                std::int64_t number) {
  const std::vector<std::size_t>& tables = look_up_.tables();
  if (tables.empty()) return whole_;
  const std::vector<Tensor> indices = look_up_.look_up(inputs, number);
  parts_.clear();
  std::size_t table = 0;
  for (const ParameterPart& whole : whole_) {
    if (table < tables.size() && tables[table] == whole.parameter) {
      add_rows(whole.parameter, indices[table++]);
    } else {
      parts_.push_back(whole);
    }
  }
  return parts_;
}

// Rows that follow each other are one part.
void TouchedParts::add_rows(std::size_t parameter, const Tensor& indices) {
  const std::int64_t height = heights_[parameter];
  rows_.clear();
  for (std::int64_t i = 0; i < indices.size(); ++i) {
    // What lies outside, the step itself refuses or clamps.
    rows_.push_back(row_of(static_cast<std::int64_t>(indices.item(i)), height));
  }
  std::ranges::sort(rows_);
  const auto again = std::ranges::unique(rows_);
  rows_.erase(again.begin(), again.end());
  const std::size_t width =
      whole_[parameter].size / static_cast<std::size_t>(height);
  std::size_t end = 0;  // of the part before, where that is of this table
  for (const std::int64_t row : rows_) {
    const std::size_t begin = static_cast<std::size_t>(row) * width;
    if (begin > 0 && begin == end) {
      parts_.back().size += width;
    } else {
      parts_.push_back({parameter, begin, width});
    }
    end = begin + width;
  }
}

}  // namespace weft
