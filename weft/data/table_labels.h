// What is to be told of the rows of a table: one of several classes, a number,
// or several things that are so or not.
//
// Threads: immutable once fitted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/data/dataset.h"
#include "weft/data/record_pieces.h"
#include "weft/data/table_options.h"

namespace weft {

class TableLabels {
 public:
  // Classes are of all `records`; the scale of numbers is by the rows that
  // `training` takes alone. Throws Error(kInvalidArgument) for options that
  // name no column, and Error(kDataLoss) with the line for a label that is
  // missing or of no kind.
  TableLabels(const RecordPieces& records, RowFilter training,
              const TableOptions& options);

  // The columns that hold the labels.
  const std::vector<std::string>& columns() const { return columns_; }
  // They are what DataDescription has.
  const std::vector<std::string>& classes() const { return classes_; }
  const NumberScale& scale() const { return scale_; }
  // i32[] for a class, f32[] for a number, f32[labels] for several.
  TensorType type() const;

  // The labels of all rows, in the one of the two that suits the kind. Throws
  // Error(kDataLoss) with the line for a label that is none of the training
  // part's.
  struct Values {
    std::vector<std::int32_t> classes;
    std::vector<float> numbers;
  };
  Values read(const Records& records) const;

 private:
  enum class Kind { kClass, kNumber, kSeveral };

  std::string_view text(const Records& records, std::size_t row,
                        std::size_t place, NumberText& memory) const;
  // Throws for a label that is no finite f32.
  float number(const Records& records, std::size_t row,
               std::size_t place) const;
  std::vector<std::string> distinct(const RecordPieces& records,
                                    std::size_t place) const;
  void choose_columns(const std::vector<std::string>& names,
                      const TableOptions& options);
  void fit_several(const RecordPieces& records);
  void fit_one(const RecordPieces& records, RowFilter training,
               const TableOptions& options);
  void fit_scale(const RecordPieces& records, RowFilter training);

  Kind kind_ = Kind::kClass;
  bool drops_dot_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> places_;  // in the training file
  // What each of several label columns says where its label is given.
  std::vector<std::string> positive_;
  std::vector<std::string> classes_;
  // The classes are 0, 1, 2 …, however a file writes these numbers.
  bool are_numbered_ = false;
  NumberScale scale_;
};

}  // namespace weft
