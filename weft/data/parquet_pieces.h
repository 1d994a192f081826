// Parquet files as the records of a table, a row group at a time.
//
// Threads: as RecordPieces.
#pragma once

#include <memory>
#include <mutex>

#include "weft/data/parquet.h"
#include "weft/data/record_pieces.h"
#include "weft/data/table_options.h"

namespace weft {

class ParquetPieces final : public RecordPieces {
 public:
  // All files have the same columns, of the same types. Columns in `ignore` are
  // not read, and may be of any type. Throws Error(kDataLoss) for files that
  // differ, Error(kUnsupported) naming a column that no table has, and what
  // ParquetFile throws.
  ParquetPieces(const std::vector<std::filesystem::path>& files,
                std::string where, const std::vector<std::string>& ignore);

  const std::string& where() const override { return where_; }
  const std::vector<std::string>& names() const override { return names_; }
  std::size_t count() const override { return pieces_.size(); }
  std::int64_t rows(std::size_t piece) const override;
  void with(std::size_t piece, std::span<const std::size_t> columns,
            const Use& use) const override;

  // `options` with what the types say: texts are categories, and floating
  // numbers are numbers, also as a label, unless the options say otherwise.
  TableOptions typed(TableOptions options) const;

 private:
  struct Piece {
    std::size_t file;
    std::size_t group;
    std::int64_t first_row;  // of the file
  };
  void add_file(std::size_t number, const std::vector<std::string>& ignore);

  std::string where_;
  std::vector<std::string> names_;
  std::vector<Piece> pieces_;
  // They say of each file which of its columns stand for the names that are
  // read.
  std::vector<std::vector<std::size_t>> columns_;
  std::vector<std::size_t> read_;  // of names_
  mutable std::mutex mutex_;
  mutable std::vector<ParquetFile> files_;
};

}  // namespace weft
