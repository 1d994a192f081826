// The records of a table, all at once, with the names of their columns: of a
// CSV text, or of a format that knows them.
//
// Threads: immutable once read.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct RecordsFormat {
  // What the columns are called in a file that is known to have no header.
  // Without names, the first record is a header if no field of it is a number,
  // or if `has_header` says so; where there is none, columns are called "1",
  // "2", …
  std::vector<std::string> names = {};
  bool has_header = false;
  std::size_t skipped_lines = 0;  // before the first record
  std::size_t first_line = 1;     // of the text, where it is a part of a file
};

class Records {
 public:
  // Throws Error(kDataLoss) with `where` and the line as CsvReader does, for
  // two columns of one name, and for other numbers of columns than there are
  // names.
  Records(std::string_view text, std::string where,
          const RecordsFormat& format = {});

  // None yet, of columns that the format names: records are added, and may
  // stand in another order of columns in another part. Throws Error(kDataLoss)
  // for two columns of one name.
  Records(std::string where, std::vector<std::string> names);
  // Fields are one per column; `line` is what place() tells of them.
  void add(std::span<const std::string_view> fields, std::size_t line);

  const std::vector<std::string>& names() const { return names_; }
  bool has_header() const { return has_header_; }
  std::size_t rows() const { return lines_.size(); }
  std::string_view field(std::size_t row, std::size_t column) const;

  // Throws Error(kInvalidArgument) with the nearest name.
  std::size_t column(std::string_view name) const;
  const std::string& where() const { return where_; }
  // "FILE:LINE", where a record begins.
  std::string place(std::size_t row) const;

 private:
  void take_names(const std::vector<std::string>& fields,
                  const std::string& place);

  std::string where_;
  bool has_header_ = false;
  std::vector<std::string> names_;
  // Fields stand one behind the other in one text, which takes a fraction of
  // what strings of their own would.
  std::string text_;
  std::vector<std::size_t> ends_;
  std::vector<std::size_t> lines_;
};

// Where `name` stands in `names`, as Records::column().
std::size_t column_in(const std::vector<std::string>& names,
                      std::string_view name, const std::string& where);

// Whether a field says that a value is not known: "", "?", "NA", "N/A", "NaN",
// "nan", "null".
bool is_missing(std::string_view field);

// So much of a field as a message shows.
inline std::string_view shown(std::string_view field) {
  return field.substr(0, 40);
}

}  // namespace weft
