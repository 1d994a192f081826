#include "weft/validation/column_batch.h"

#include <algorithm>

namespace weft::validation {
namespace {

// Where the items of each list of a level begin in the level below.
std::vector<std::size_t> begins_of(const std::vector<std::int32_t>& lengths) {
  std::vector<std::size_t> begins(lengths.size() + 1);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto length = static_cast<std::size_t>(std::max(lengths[i], 0));
    begins[i + 1] = begins[i] + length;
  }
  return begins;
}

Column select_column(const Column& column, std::span<const std::int64_t> rows) {
  Column part{.name = column.name, .is_typed = column.is_typed, .values = {}};
  part.levels.assign(column.levels.size(), {});
  std::vector<std::vector<std::size_t>> begins;
  for (const auto& level : column.levels) begins.push_back(begins_of(level));
  for (const std::int64_t row : rows) {
    // The items of a row are one range of each level, and of the values.
    auto first = static_cast<std::size_t>(row);
    std::size_t last = first + 1;
    for (std::size_t depth = 0; depth < column.levels.size(); ++depth) {
      const auto& lengths = column.levels[depth];
      part.levels[depth].insert(
          part.levels[depth].end(),
          lengths.begin() + static_cast<std::ptrdiff_t>(first),
          lengths.begin() + static_cast<std::ptrdiff_t>(last));
      first = begins[depth][first];
      last = begins[depth][last];
    }
    for (std::size_t i = first; i < last; ++i) {
      part.values.push_back(column.values[i]);
      if (!column.are_strings.empty()) {
        part.are_strings.push_back(column.are_strings[i]);
      }
    }
  }
  return part;
}

}  // namespace

void Column::clear() {
  for (auto& level : levels) level.clear();
  values.clear();
  are_strings.clear();
}

void ColumnBatch::clear() {
  rows = 0;
  for (Column& column : columns) column.clear();
  texts.clear();
}

std::vector<std::int64_t> values_per_row(const Column& column) {
  // From the values upwards: how many lie below each list of a level.
  std::vector<std::int64_t> below;
  for (std::size_t depth = column.levels.size(); depth-- > 0;) {
    const auto& lengths = column.levels[depth];
    std::vector<std::int64_t> counts(lengths.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::int32_t length = std::max(lengths[i], 0);
      if (depth + 1 == column.levels.size()) {
        counts[i] = length;
        continue;
      }
      for (std::int32_t k = 0; k < length; ++k) counts[i] += below[next++];
    }
    below = std::move(counts);
  }
  return below;
}

ColumnBatch select_rows(const ColumnBatch& batch,
                        std::span<const std::int64_t> rows) {
  ColumnBatch part{.rows = static_cast<std::int64_t>(rows.size()),
                   .columns = {}};
  for (const Column& column : batch.columns) {
    part.columns.push_back(select_column(column, rows));
  }
  return part;
}

}  // namespace weft::validation
