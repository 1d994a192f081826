// Rows of comma-separated values (RFC 4180) as columns, a buffer at a time.
//
// The grammar is that of data/csv.h, and so are its refusals, but for speed:
// where fields may end is found for 64 bytes at once (Langdale and Lemire,
// "Parsing gigabytes of JSON per second", VLDB Journal 2019, section 3.1), and
// no field is copied but those with doubled quotes.
#pragma once

#include <filesystem>

#include "weft/validation/row_source.h"

namespace weft::validation {

class CsvRows final : public RowSource {
 public:
  // Reads a file, also a pipe, once from its beginning to its end. Throws
  // Error(kUnavailable) for one that cannot be opened, Error(kDataLoss) for one
  // that is empty and for two columns of one name.
  CsvRows(const std::filesystem::path& path, const std::string& header);
  // The same of a text, which must outlive it.
  CsvRows(std::string_view text, std::string where, const std::string& header);
  ~CsvRows() override;
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;

  bool next(ColumnBatch& batch) override;

  // A longer record is no row of a table.
  static constexpr std::size_t kMostRecordBytes = std::size_t{16} << 20;

 private:
  void open(const std::string& header);
  void fill();
  void mark_ends();
  std::size_t find_end(std::size_t from);
  bool read_record(ColumnBatch& batch);
  std::size_t read_quoted(std::size_t begin, ColumnBatch& batch,
                          std::string_view& field);
  std::string_view trimmed(std::size_t begin, std::size_t end) const;
  void set_lengths(ColumnBatch& batch);
  void take_back(ColumnBatch& batch, std::size_t columns);
  [[noreturn]] void fail(std::size_t place, const std::string& reason) const;

  std::string where_;
  int file_ = -1;
  std::string_view text_;  // what is read where there is no file
  std::vector<std::string> names_;
  std::string buffer_;  // padded with kPadding zeros
  std::size_t used_ = 0;
  std::size_t size_ = 0;
  bool is_at_end_ = false;
  std::size_t lines_ = 0;         // that end before the buffer
  std::size_t buffer_lines_ = 0;  // that end in it
  // Rows of the batch without a value, by column.
  std::vector<std::vector<std::int64_t>> missing_;
  // The places of bytes that may end a field, then size_; and the first of them
  // that is not behind what is read.
  std::vector<std::uint32_t> ends_;
  std::size_t next_end_ = 0;
};

}  // namespace weft::validation
