// Tables with a label column: what a CSV file becomes.
//
// Threads: pure functions; the data sets are immutable.
#pragma once

#include <memory>
#include <string_view>

#include "weft/data/dataset.h"
#include "weft/data/table_columns.h"
#include "weft/data/table_labels.h"
#include "weft/data/table_options.h"

namespace weft {

// How the rows of a table are read: fitted to its training part, and the same
// for all others.
struct TableSchema {
  TableColumns columns;
  std::vector<std::string> label_columns;  // that are to be told
  // null where only the description of the data is there.
  std::shared_ptr<const TableLabels> labels = nullptr;
};

// Reads `text` as (features f32[columns], label). Numbers are standardised and
// categories are indices, in the order of table_columns.h; labels are as in
// table_labels.h. A column is numbers or categories by its content, unless the
// options say. A first record without any number is taken for the header.
//
// A test part is read as its training part `train` was: of the options, only
// the format is its own. It may have its columns in another order, by its
// header.
//
// Throws Error(kDataLoss) with `where` and the line for a malformed record, a
// field of the wrong kind, or a file without records; Error(kInvalidArgument)
// for options that do not fit the file.
DatasetRef parse_table(std::string_view text, std::string_view where,
                       const TableOptions& options = {},
                       const Dataset* train = nullptr);

// The same of records that a format has read.
DatasetRef parse_table(const Records& records, const TableOptions& options = {},
                       const Dataset* train = nullptr);

// How a table is read, by the rows that `training` takes of it; throws as
// parse_table(). Reads all records several times, and keeps none.
std::shared_ptr<const TableSchema> fit_table(const RecordPieces& records,
                                             RowFilter training,
                                             const TableOptions& options);

// A file in one piece, of which a fifth is held out (hold_out_fifth()) before
// anything is learned from it.
DatasetSplits split_table(std::string_view text, std::string_view where,
                          const TableOptions& options = {});
DatasetSplits split_table(const Records& records,
                          const TableOptions& options = {});

}  // namespace weft
