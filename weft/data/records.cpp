#include "weft/data/records.h"

#include <algorithm>
#include <set>
#include <utility>

#include "weft/data/csv.h"

namespace weft {
namespace {

bool is_header(const std::vector<std::string>& fields) {
  double ignored = 0;
  // A record without any number can only be a header.
  return std::ranges::none_of(
      fields, [&](const auto& field) { return parse_number(field, ignored); });
}

std::string_view without_lines(std::string_view text, std::size_t lines) {
  for (; lines > 0; --lines) {
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return text;
}

}  // namespace

Records::Records(std::string_view text, std::string where,
                 const RecordsFormat& format)
    : where_(std::move(where)), names_(format.names) {
  // Lines are counted from the file's first one, so that messages name the
  // place that an editor shows.
  CsvReader reader(without_lines(text, format.skipped_lines), where_,
                   format.first_line + format.skipped_lines);
  std::vector<std::string> fields;
  std::vector<std::string_view> views;
  for (bool is_first = true; reader.next(fields); is_first = false) {
    if (is_first && names_.empty() &&
        (format.has_header || is_header(fields))) {
      has_header_ = true;
      take_names(fields, fmt::format("{}:{}", where_, reader.line()));
      continue;
    }
    if (names_.empty()) {
      for (std::size_t i = 1; i <= fields.size(); ++i) {
        names_.push_back(std::to_string(i));
      }
    }
    views.assign(fields.begin(), fields.end());
    add(views, reader.line());
  }
}

Records::Records(std::string where, std::vector<std::string> names)
    : where_(std::move(where)), has_header_(true) {
  take_names(names, where_);
}

void Records::take_names(const std::vector<std::string>& fields,
                         const std::string& place) {
  names_ = fields;
  std::set<std::string_view> seen;
  // Columns are told by name, which two of them would make ambiguous.
  for (const std::string& name : names_) {
    if (seen.insert(name).second) continue;
    throw Error(ErrorCode::kDataLoss, place, "two columns are called '{}'",
                name);
  }
}

void Records::add(std::span<const std::string_view> fields, std::size_t line) {
  if (fields.size() != names_.size()) {
    throw Error(ErrorCode::kDataLoss, fmt::format("{}:{}", where_, line),
                "{} fields, where there are {} columns", fields.size(),
                names_.size());
  }
  for (const std::string_view field : fields) {
    // All fields share one string: a string each would take more memory than
    // most fields.
    text_ += field;
    ends_.push_back(text_.size());
  }
  lines_.push_back(line);
}

std::string_view Records::field(std::size_t row, std::size_t column) const {
  // A field begins where the one before it ends, be that of the record before.
  const std::size_t i = row * names_.size() + column;
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

std::size_t Records::column(std::string_view name) const {
  return column_in(names_, name, where_);
}

std::size_t column_in(const std::vector<std::string>& names,
                      std::string_view name, const std::string& where) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) {
    return static_cast<std::size_t>(found - names.begin());
  }
  const std::string near = nearest(name, names);
  throw Error(ErrorCode::kInvalidArgument, where, "no column '{}'{}", name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

std::string Records::place(std::size_t row) const {
  return fmt::format("{}:{}", where_, lines_[row]);
}

bool is_missing(std::string_view field) {
  static constexpr std::string_view kMissing[] = {"",    "?",   "NA",  "N/A",
                                                  "NaN", "nan", "null"};
  return std::ranges::find(kMissing, field) != std::end(kMissing);
}

}  // namespace weft
