// Tables that say something of points: a CSV file, or one of JSON lines, with a
// column `id` and one more.
//
// Threads: immutable once read.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/data/records.h"

namespace weft {

inline constexpr const char* kIdColumn = "id";
inline constexpr const char* kLabelColumn = "label";
inline constexpr const char* kPredictionColumn = "prediction";

// A table of either kind, told by its name. Throws what reading throws.
Records read_records(const std::filesystem::path& path);
// A table of CSV.
Records records_from_csv(std::string_view text, std::string where);

class IdTable {
 public:
  // Throws Error(kInvalidArgument) for a table without the columns, and
  // Error(kDataLoss) with the line for an id that comes twice, for a value
  // that is missing ("", "NaN"), and for what is no UTF-8.
  IdTable(const Records& records, std::string_view column);

  const std::string& where() const { return where_; }
  std::size_t size() const { return values_.size(); }
  std::optional<std::string> find(std::string_view id) const;
  // The values of all of these, in their order: the table must have them, and
  // no others. Throws Error(kInvalidArgument) with the first that is missing or
  // is too many.
  std::vector<std::string> in_order(std::span<const std::string> ids) const;

 private:
  std::string where_;
  std::map<std::string, std::string, std::less<>> values_;
};

// The same as CSV: "id,prediction\n0,7\n…".
std::string id_table_text(std::string_view column,
                          std::span<const std::string> ids,
                          std::span<const std::string> values);
// A field of CSV, in quotes if it needs them.
std::string csv_field(std::string_view text);

}  // namespace weft
