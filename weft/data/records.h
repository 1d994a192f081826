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

#include "weft/data/number_column.h"

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
  // Where each record stands, if the text was made of another one.
  std::vector<std::size_t> lines = {};
};

class Records {
 public:
  // Throws Error(kDataLoss) with `where` and the line as CsvReader does, for
  // two columns of one name, for a name that is no UTF-8, and for other numbers
  // of columns than there are names.
  Records(std::string_view text, std::string where,
          const RecordsFormat& format = {});

  // None yet, of columns that the format names: records are added, and may
  // stand in another order of columns in another part. The columns at the
  // places `numbers` have values of their own. Throws Error(kDataLoss) for two
  // columns of one name.
  Records(std::string where, std::vector<std::string> names,
          std::span<const std::size_t> numbers = {});
  // Fields are one per column; those of columns of numbers are not kept. `line`
  // is what place() tells of them.
  void add(std::span<const std::string_view> fields, std::size_t line);
  // A column of numbers, which whoever adds records fills beside: one a record.
  NumberColumn& numbers(std::size_t column);

  const std::vector<std::string>& names() const { return names_; }
  bool has_header() const { return has_header_; }
  std::size_t rows() const { return lines_.size(); }
  // A field of a column that has texts.
  std::string_view field(std::size_t row, std::size_t column) const;
  // A field of any column; `memory` holds it where it is a number.
  std::string_view text(std::size_t row, std::size_t column,
                        NumberText& memory) const;
  bool is_missing(std::size_t row, std::size_t column) const;
  // False for what is no finite number.
  bool number(std::size_t row, std::size_t column, double& value) const;

  // Throws Error(kInvalidArgument) with the nearest name.
  std::size_t column(std::string_view name) const;
  const std::string& where() const { return where_; }
  // "FILE:LINE", where a record begins.
  std::string place(std::size_t row) const;

 private:
  void take_names(const std::vector<std::string>& fields,
                  const std::string& place);
  // All columns have texts, but those at these places.
  void place_columns(std::span<const std::size_t> numbers);
  const NumberColumn* find_numbers(std::size_t column) const;

  std::string where_;
  bool has_header_ = false;
  std::vector<std::string> names_;
  // For each column its place among those of texts, or among `numbers_`.
  struct Place {
    bool is_number = false;
    std::size_t number = 0;
  };
  std::vector<Place> places_;
  std::vector<NumberColumn> numbers_;
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

// Throws Error(kDataLoss) with the place for the name of a column, a category
// or a class that is no UTF-8: files that keep names could not have it.
void check_name(std::string_view name, const std::string& place);

// So much of a field as a message shows.
inline std::string_view shown(std::string_view field) {
  return field.substr(0, 40);
}

}  // namespace weft
