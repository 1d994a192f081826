#include "weft/data/csv.h"

#include <cmath>
#include <utility>

#include "weft/base/read_double.h"

namespace weft {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string where, std::size_t line)
    : text_(text), where_(std::move(where)), line_(line) {
  // Spreadsheets write a byte order mark, which is no part of the first field.
  if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
}

bool CsvReader::next(std::vector<std::string>& fields) {
  // Blank lines are no records: files often end with one.
  while (position_ < text_.size() &&
         (text_[position_] == '\n' || text_[position_] == '\r')) {
    if (text_[position_++] == '\n') ++line_;
  }
  if (position_ == text_.size()) return false;

  // Errors name the line on which a record begins, as a quoted field may run
  // over several.
  record_line_ = line_;
  std::size_t count = 0;
  do {
    // Strings of the record before are filled again, with the memory that they
    // have.
    if (fields.size() == count) fields.emplace_back();
    std::string& field = fields[count++];
    field.clear();
    while (position_ < text_.size() && is_blank(text_[position_])) {
      ++position_;
    }
    if (position_ < text_.size() && text_[position_] == '"') {
      read_quoted(field);
    } else {
      read_plain(field);
    }
  } while (!ends_record());
  fields.resize(count);

  // The first record says how many columns there are.
  if (columns_ == 0) columns_ = count;
  if (count != columns_) {
    fail(record_line_, fmt::format("{} fields, but the first record has {}",
                                   count, columns_));
  }
  return true;
}

void CsvReader::read_quoted(std::string& field) {
  const std::size_t begin = line_;
  for (++position_; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '"') {
      // Inside of quotes, two quotes stand for one (RFC 4180, rule 7).
      const bool is_doubled =
          position_ + 1 < text_.size() && text_[position_ + 1] == '"';
      if (!is_doubled) {
        ++position_;
        while (position_ < text_.size() && is_blank(text_[position_])) {
          ++position_;
        }
        return;
      }
      ++position_;
    }
    if (c == '\0') fail(line_, "a zero byte");
    if (c == '\n') ++line_;
    field.push_back(c);
  }
  fail(begin, "a quote that is opened here is never closed");
}

void CsvReader::read_plain(std::string& field) {
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == ',' || c == '\n' || c == '\r') break;
    if (c == '\0') fail(line_, "a zero byte");
    // A quote here is forbidden by RFC 4180, rule 5; a guess would shift
    // fields.
    if (c == '"') fail(line_, "a quote in the middle of a field");
    field.push_back(c);
  }
  while (!field.empty() && is_blank(field.back())) field.pop_back();
}

// Steps over what follows a field; true behind the last of a record.
bool CsvReader::ends_record() {
  if (position_ == text_.size()) return true;
  const char c = text_[position_++];
  if (c == ',') return false;
  // Lines may end with LF, CR LF, or CR alone.
  if (c == '\r' && position_ < text_.size() && text_[position_] == '\n') {
    ++position_;
    ++line_;
    return true;
  }
  if (c == '\n' || c == '\r') {
    if (c == '\n') ++line_;
    return true;
  }
  fail(line_, fmt::format("'{}' behind a closing quote", c));
}

void CsvReader::fail(std::size_t line, const std::string& reason) const {
  throw Error(ErrorCode::kDataLoss, fmt::format("{}:{}", where_, line),
              std::string(reason));
}

bool parse_number(std::string_view text, double& value) {
  // read_double() knows no plus, and files do.
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const auto [end, error] =
      read_double(text.data(), text.data() + text.size(), value);
  // read_double() reads "inf" and "nan" too, which would spoil training.
  return error == std::errc() && end == text.data() + text.size() &&
         std::isfinite(value);
}

}  // namespace weft
