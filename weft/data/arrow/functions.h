// The few calls of Arrow's reader of Parquet that weft/data/parquet.h needs, as
// plain functions of libweft_arrow.so, which is only loaded where a Parquet
// file is read: other programs neither need Arrow nor wait for it.
//
// Nothing but numbers and bytes crosses the border: no classes, no exceptions.
//
// Threads: a file belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// What the values of a column are given as.
enum class ParquetKind {
  kNone,      // not read: ParquetColumn::type says what it is
  kBool,      // integers 0 and 1
  kInteger,   // also dates (days), times and moments, in the unit of the file
  kUnsigned,  // the bits of integers
  kFloat,
  kDouble,  // also decimals
  kText,
};

struct ParquetColumn {
  const char* name = nullptr;
  ParquetKind kind = ParquetKind::kNone;
  bool is_list = false;        // a row has a list of such values
  const char* type = nullptr;  // as Parquet calls it
};

// It stands where Arrow keeps it, as long as the values do that it is of.
struct ParquetText {
  const char* begin = nullptr;
  std::size_t size = 0;
};

// A column of the rows that read() has given; the arrays have an entry a row,
// or one for each value of its lists, which says nothing where the value is
// missing.
struct ParquetValues {
  std::size_t count = 0;  // of entries
  // How many values each row of lists has, or -1 where it has no list; null
  // for other columns.
  const std::int32_t* lengths = nullptr;
  const std::uint8_t* is_known = nullptr;
  // The one of these that suits the kind.
  const std::int64_t* integers = nullptr;
  const float* floats = nullptr;
  const double* doubles = nullptr;
  const ParquetText* texts = nullptr;
};

// Where a call fails, error() has the reason, of this thread.
struct ParquetFunctions {
  // Opens a file of these bytes, which must outlive it. Null: failed.
  void* (*open)(const void* bytes, std::size_t size);
  void (*close)(void* file);
  // They live as long as the file.
  std::size_t (*columns)(void* file, const ParquetColumn** columns);
  std::size_t (*groups)(void* file);
  std::int64_t (*group_rows)(void* file, std::size_t group);
  // Begins to read these columns, by number, of a row group. -1: failed.
  int (*begin)(void* file, std::size_t group, const std::size_t* columns,
               std::size_t count);
  // The next rows of the group, at most so many, as one entry of `values` for
  // each column, which live until the next call. Returns how many rows; 0 at
  // the end of the group, -1: failed.
  std::int64_t (*read)(void* file, std::int64_t most,
                       const ParquetValues** values);
  const char* (*error)();
};

// The one symbol of the library: "weft_parquet_functions".
using ParquetEntry = const ParquetFunctions* (*)();

}  // namespace weft
