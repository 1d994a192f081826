// The columns of a table that a model sees, and how their texts become numbers.
//
// What a column is, and all statistics, come from the training rows alone; a
// row of another file, or of a person, is read by them.
//
// Threads: immutable once fitted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/data/dataset.h"
#include "weft/data/record_pieces.h"
#include "weft/data/table_options.h"

namespace weft {

// What a missing value is called among categories.
inline constexpr std::string_view kMissingCategory = "?";

struct TableColumn {
  std::string name = {};
  bool is_category = false;
  // True if its content decided: then a test part with other content is
  // refused.
  bool is_by_content = true;

  // A column of numbers has these. A missing number is taken for the mean;
  // where some were missing in training, a further column is 1 if it is, else
  // 0.
  double mean = 0;
  NumberScale scale = {};
  bool has_indicator = false;

  // A column of categories has these, sorted. A missing value is one of them,
  // called "?", if some were missing in training.
  std::vector<std::string> categories = {};
};

class ColumnFit;

class TableColumns {
 public:
  // All columns of `records` but those that are to be told or ignored, by the
  // rows that `training` takes. Throws Error(kInvalidArgument) for options that
  // name no column, or one twice, or leave none, and Error(kDataLoss) with the
  // line for a column in which some values are numbers and others are not, or
  // all are missing.
  TableColumns(const RecordPieces& records, RowFilter training,
               const TableOptions& options,
               const std::vector<std::string>& told);

  // Those of a table that was fitted before, in its order.
  TableColumns(std::vector<TableColumn> columns,
               std::vector<std::string> others);

  const std::vector<TableColumn>& columns() const { return columns_; }
  // Those that the file has beside: to be told, or ignored.
  const std::vector<std::string>& others() const { return others_; }
  std::vector<std::int64_t> category_counts() const;
  // How many numbers a row becomes: its numbers, then the indicators of missing
  // ones, then categories, each kind in the order of the columns.
  std::int64_t width() const { return width_; }

  // Where columns() stand in `records`: by name where it has a header, else by
  // position among as many. Throws Error(kDataLoss) where they differ.
  std::vector<std::size_t> places_in(const Records& records) const;
  // Reads `fields`, one per column, into `row` of width(). Throws
  // Error(kDataLoss) with `where` for a field of another kind than in training.
  void encode(std::span<const std::string_view> fields, float* row,
              std::string_view where) const;
  // The same of a record, whose `places` are those of places_in().
  void encode(const Records& records, std::size_t record,
              std::span<const std::size_t> places, float* row) const;

 private:
  template <class Fields>
  void encode_fields(const Fields& fields, float* row) const;
  void fit(const RecordPieces& records, RowFilter training,
           const TableOptions& options, std::vector<ColumnFit>& fits);
  void count();

  std::vector<TableColumn> columns_;
  std::vector<std::size_t> places_;  // in the training file
  std::vector<std::string> others_;
  std::size_t numbers_ = 0;
  std::size_t indicators_ = 0;
  std::int64_t width_ = 0;
};

}  // namespace weft
