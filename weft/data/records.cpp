#include "weft/data/records.h"

#include <algorithm>
#include <set>
#include <utility>

#include "weft/base/utf8.h"
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

// Messages are texts: what is none is shown by its bytes.
std::string in_ascii(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x80 ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return result;
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
    if (places_.empty()) place_columns({});
    views.assign(fields.begin(), fields.end());
    add(views,
        format.lines.empty() ? reader.line() : format.lines.at(lines_.size()));
  }
}

Records::Records(std::string where, std::vector<std::string> names,
                 std::span<const std::size_t> numbers)
    : where_(std::move(where)), has_header_(true) {
  take_names(names, where_);
  place_columns(numbers);
}

void Records::place_columns(std::span<const std::size_t> numbers) {
  places_.resize(names_.size());
  numbers_.resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    places_[numbers[i]] = {.is_number = true, .number = i};
  }
  std::size_t texts = 0;
  for (Place& place : places_) {
    if (!place.is_number) place.number = texts++;
  }
}

NumberColumn& Records::numbers(std::size_t column) {
  WEFT_CHECK(places_[column].is_number);
  return numbers_[places_[column].number];
}

const NumberColumn* Records::find_numbers(std::size_t column) const {
  const Place& place = places_[column];
  return place.is_number ? &numbers_[place.number] : nullptr;
}

void Records::take_names(const std::vector<std::string>& fields,
                         const std::string& place) {
  names_ = fields;
  std::set<std::string_view> seen;
  // Columns are told by name, which two of them would make ambiguous.
  for (const std::string& name : names_) {
    check_name(name, place);
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
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (places_[i].is_number) continue;
    // All fields share one string: a string each would take more memory than
    // most fields.
    text_ += fields[i];
    ends_.push_back(text_.size());
  }
  lines_.push_back(line);
}

std::string_view Records::field(std::size_t row, std::size_t column) const {
  WEFT_CHECK(!places_[column].is_number);
  // A field begins where the one before it ends, be that of the record before.
  const std::size_t i =
      row * (names_.size() - numbers_.size()) + places_[column].number;
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

std::string_view Records::text(std::size_t row, std::size_t column,
                               NumberText& memory) const {
  const NumberColumn* numbers = find_numbers(column);
  return numbers != nullptr ? numbers->text(row, memory) : field(row, column);
}

bool Records::is_missing(std::size_t row, std::size_t column) const {
  const NumberColumn* numbers = find_numbers(column);
  return numbers != nullptr ? numbers->is_missing(row)
                            : weft::is_missing(field(row, column));
}

bool Records::number(std::size_t row, std::size_t column, double& value) const {
  const NumberColumn* numbers = find_numbers(column);
  return numbers != nullptr ? numbers->number(row, value)
                            : parse_number(field(row, column), value);
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

void check_name(std::string_view name, const std::string& place) {
  if (is_utf8(name)) return;
  throw Error(ErrorCode::kDataLoss, place, "the name '{}' is no UTF-8",
              in_ascii(shown(name)))
      .hint("convert the file: iconv -f LATIN1 -t UTF-8");
}

bool is_missing(std::string_view field) {
  static constexpr std::string_view kMissing[] = {"",    "?",   "NA",  "N/A",
                                                  "NaN", "nan", "null"};
  return std::ranges::find(kMissing, field) != std::end(kMissing);
}

}  // namespace weft
