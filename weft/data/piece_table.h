// Tables whose records come in pieces (record_pieces.h), and which may so be
// larger than memory: rows are read again when they are asked for.
//
// Threads: as Dataset.
#pragma once

#include <memory>

#include "weft/data/table.h"

namespace weft {

struct PieceOptions {
  TableOptions table = {};
  // So many pieces are shuffled with each other; they and one more are kept in
  // memory. 0: all are.
  std::int64_t mixed = 0;
};

// As parse_table(), with the same numbers for the same records. The pieces are
// the blocks of the data set.
DatasetRef open_pieces(std::shared_ptr<const RecordPieces> records,
                       const PieceOptions& options,
                       const Dataset* train = nullptr);

// As split_table().
DatasetSplits split_pieces(std::shared_ptr<const RecordPieces> records,
                           const PieceOptions& options);

}  // namespace weft
