// Rows of a table, of numbers and categories, as vectors that a network can
// compute with: numbers stay, and each category becomes a vector of its own.
//
// Threads: as Module.
#pragma once

#include <vector>

#include "weft/nn/module.h"

namespace weft::nn {

class TableRow : public Layer {
 public:
  // Rows are f32[N, numbers + categories.size()]: the last columns hold the
  // number of one of so many categories each, or -1 for one that is unknown,
  // whose vector is zero.
  //
  // With `width` 0 a category is a 1 among zeros. Else it is a row of
  // weight: f32[sum of categories, width], one table for all columns: looked up
  // at once, as Naumov et al., "Deep Learning Recommendation Model", 2019, do.
  // Throws Error(kInvalidArgument) for a negative width.
  TableRow(std::int64_t numbers, std::vector<std::int64_t> categories,
           std::int64_t width);

  // How many numbers come out for a row.
  std::int64_t outputs() const;

 protected:
  // f32[N, outputs()].
  Value forward(const Value& rows) override;

 private:
  Value one_of_many(const Value& categories) const;
  Value looked_up(const Value& categories) const;

  std::int64_t numbers_;
  std::vector<std::int64_t> categories_;
  std::int64_t width_;
  ParameterRef weight_;
};

}  // namespace weft::nn
