// Parquet files, as numbers and texts, which a table (table.h) is made of, or
// as texts alone, of which statistics (weft/validation) are.
//
// Arrow reads them, through libweft_arrow.so: tools/arrow.sh brings it, and the
// next build makes the library.
//
// Threads: a file belongs to one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/file.h"
#include "weft/data/arrow/functions.h"
#include "weft/data/number_column.h"

namespace weft {

// Some rows of a column. Numbers are texts that read back as the same numbers,
// true and false are those words.
struct ParquetTexts {
  bool is_text = false;                  // of texts, whatever they look like
  std::vector<std::string_view> values;  // "" where there is none
  std::vector<std::uint8_t> is_known;
  std::string memory;  // of numbers
  // How many of the values each row of lists has, or -1; else empty.
  std::vector<std::int32_t> lengths;
};

class ParquetFile {
 public:
  // Maps the file, and reads its footer. Throws Error(kDataLoss) for what is no
  // Parquet file, Error(kUnavailable) without Arrow.
  explicit ParquetFile(const std::filesystem::path& path);
  // The bytes must outlive it.
  ParquetFile(ByteSpan bytes, std::string where);

  const std::string& where() const { return where_; }
  std::vector<std::string> names() const;
  ParquetKind kind(std::size_t column) const;
  // Whether a row has a list of values of that kind.
  bool is_list(std::size_t column) const;
  // Throws Error(kUnsupported) naming the column and its type for a list, a
  // map, or one of a type that no row of a table has.
  void check(std::size_t column) const;

  std::size_t groups() const;
  std::int64_t rows(std::size_t group) const;

  // Goes to the first row of a row group; next() then has these columns of it.
  // None may be of kNone. Memory is that of the columns of one group,
  // packed.
  void begin(std::size_t group, std::vector<std::size_t> columns);
  // The next rows, at most so many; 0 at the end of the group. Throws
  // Error(kDataLoss) for damage.
  std::int64_t next(std::int64_t most);
  // What next() has come to, which lives until it is called again: a column of
  // those that begin() was given, by its place there. Numbers are added behind
  // those that `numbers` has; the column has_numbers() and no lists.
  void add_numbers(std::size_t i, NumberColumn& numbers) const;
  void write_texts(std::size_t i, ParquetTexts& texts) const;
  // next(), with all columns as texts.
  std::int64_t next(std::int64_t most, std::vector<ParquetTexts>& columns);

 private:
  struct Closer {
    const ParquetFunctions* functions;
    void operator()(void* file) const { functions->close(file); }
  };
  void open(ByteSpan bytes);
  [[noreturn]] void fail() const;

  std::string where_;
  MappedFile map_;
  const ParquetFunctions* functions_;
  std::unique_ptr<void, Closer> file_;
  std::span<const ParquetColumn> columns_;
  std::vector<std::size_t> reading_;
  std::span<const ParquetValues> values_;
  std::size_t rows_ = 0;  // that are in values_
};

// Whether the values of a column are numbers, and not texts or truths.
bool has_numbers(ParquetKind kind);

// The Parquet files that `path` is: itself, or those in the folder by their
// names, as programs write tables in parts. None if there are none.
std::vector<std::filesystem::path> parquet_files(
    const std::filesystem::path& path);

}  // namespace weft
