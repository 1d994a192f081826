// What a column of a table is, learned of the training rows one after the
// other: once to see which values there are, and of numbers twice more, for
// their mean and their deviation.
//
// Threads: value types.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "weft/data/records.h"
#include "weft/data/table_columns.h"

namespace weft {

class ColumnFit {
 public:
  // `column` has its name, and what the options say of it; `place` is where it
  // stands in records.
  ColumnFit(TableColumn column, std::size_t place);

  const TableColumn& column() const { return column_; }
  std::size_t place() const { return place_; }

  void look(const Records& records, std::size_t row);
  // Numbers if all known values are; some alone are a mistake in the file more
  // often than they are names. Throws Error(kDataLoss) with the line, or
  // `where`.
  void decide(const std::string& where);

  // A column of numbers is shown each training row twice, in one order.
  void add_to_mean(const Records& records, std::size_t row);
  void add_to_deviation(const Records& records, std::size_t row);
  // Throws Error(kDataLoss) for numbers that are too large to take a mean of.
  TableColumn finish(bool standardizes, const std::string& where) &&;

 private:
  bool known_number(const Records& records, std::size_t row,
                    double& value) const;

  TableColumn column_;
  std::size_t place_;
  std::size_t known_ = 0;
  std::size_t numbers_ = 0;
  // The first value that is no number, and where it stands.
  std::string other_;
  std::string other_place_;
  // Sorted, so that categories have the same numbers whatever the order of
  // rows.
  std::set<std::string, std::less<>> names_;
  ScaleFit scale_;
};

// How messages call a column: as the file does, or by its position.
std::string call_column(std::string_view name);
// "not a number".
Error no_number(std::string_view name, std::string_view field,
                std::string_view where);

}  // namespace weft
