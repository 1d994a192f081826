#include "weft/data/record_pieces.h"

namespace weft {

std::int64_t RecordPieces::rows() const {
  std::int64_t all = 0;
  for (std::size_t piece = 0; piece < count(); ++piece) all += rows(piece);
  return all;
}

void RecordPieces::each(RowFilter filter, std::span<const std::size_t> columns,
                        const UseRow& use) const {
  std::int64_t first = 0;  // row of the piece
  for (std::size_t piece = 0; piece < count(); ++piece) {
    with(piece, columns, [&](const Records& records) {
      for (std::size_t row = 0; row < records.rows(); ++row) {
        if (filter == nullptr || filter(first + static_cast<std::int64_t>(row)))
          use(records, row);
      }
    });
    first += rows(piece);
  }
}

}  // namespace weft
