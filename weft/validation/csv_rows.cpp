#include "weft/validation/csv_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <hwy/highway.h>
#include <set>
#include <system_error>
#include <unistd.h>

#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

// A buffer with its fields stays in the second level of the cache.
constexpr std::size_t kBufferBytes = std::size_t{128} << 10;
constexpr std::size_t kPadding = 64;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// What is to be known of 64 bytes.
struct Marks {
  std::uint64_t ends = 0;  // a bit for each comma, line end or quote
  std::size_t lines = 0;   // line feeds
  bool has_zero = false;
};

Marks marks_of(const char* bytes) {
  namespace hn = hwy::HWY_NAMESPACE;
  // As many bytes as a register of the least processor has, at most 64.
  constexpr hn::CappedTag<std::uint8_t, 64> tag;
  std::array<std::uint8_t, 8> ends, feeds;
  auto least = hn::Set(tag, 255);
  for (std::size_t i = 0; i < 64; i += hn::Lanes(tag)) {
    const auto part =
        hn::LoadU(tag, reinterpret_cast<const std::uint8_t*>(bytes) + i);
    const auto is = [&](char c) {
      return hn::Eq(part, hn::Set(tag, static_cast<std::uint8_t>(c)));
    };
    const auto is_feed = is('\n');
    const auto is_end =
        hn::Or(hn::Or(is(','), is_feed), hn::Or(is('\r'), is('"')));
    hn::StoreMaskBits(tag, is_end, ends.data() + i / 8);
    hn::StoreMaskBits(tag, is_feed, feeds.data() + i / 8);
    least = hn::Min(least, part);
  }
  const auto word = [](const std::array<std::uint8_t, 8>& bits) {
    return std::bit_cast<std::uint64_t>(bits);
  };
  return {.ends = word(ends),
          .lines = static_cast<std::size_t>(std::popcount(word(feeds))),
          .has_zero = !hn::AllFalse(tag, hn::Eq(least, hn::Zero(tag)))};
}

}  // namespace

CsvRows::CsvRows(const std::filesystem::path& path, const std::string& header)
    : where_(path.string()) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) {
    throw Error(ErrorCode::kUnavailable, where_, "cannot be opened: {}",
                std::generic_category().message(errno));
  }
  try {
    open(header);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

CsvRows::CsvRows(std::string_view text, std::string where,
                 const std::string& header)
    : where_(std::move(where)), text_(text) {
  open(header);
}

CsvRows::~CsvRows() {
  if (file_ >= 0) ::close(file_);
}

void CsvRows::open(const std::string& header) {
  fill();
  if (std::string_view(buffer_.data(), size_).starts_with(kByteOrderMark)) {
    used_ = kByteOrderMark.size();
  }
  // The first record says how many columns there are. It is read as a row of
  // as many columns as are needed.
  ColumnBatch first;
  std::size_t begin = used_;
  for (; !read_record(first); begin = used_) {
    if (is_at_end_) {
      throw Error(ErrorCode::kDataLoss, where_,
                  "the file is empty: not even a header is there");
    }
    fill();
  }
  std::vector<std::string> fields;
  for (const Column& column : first.columns) {
    fields.emplace_back(column.values.empty() ? std::string_view()
                                              : column.values[0]);
  }
  missing_.assign(fields.size(), {});
  const bool has_number = std::ranges::any_of(fields, [](const auto& field) {
    return parse_value(field).kind != ValueKind::kText;
  });
  const bool has_header = header == "yes" || (header == "auto" && !has_number);
  if (!has_header) {
    used_ = begin;
    next_end_ = 0;
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    // A column without a name is called by its place, as all are where there
    // is no header.
    const bool is_named = has_header && !fields[i].empty();
    names_.push_back(is_named ? fields[i] : fmt::format("{}", i + 1));
    if (!seen.insert(names_.back()).second) {
      fail(0, fmt::format("two columns are called '{}'",
                          names_.back().substr(0, 80)));
    }
  }
}

// Moves what is left to the beginning and reads on behind it.
void CsvRows::fill() {
  const auto begin = buffer_.begin();
  lines_ += buffer_lines_;
  lines_ -= static_cast<std::size_t>(
      std::count(begin + static_cast<std::ptrdiff_t>(used_),
                 begin + static_cast<std::ptrdiff_t>(size_), '\n'));
  const std::size_t left = size_ - used_;
  std::size_t room = kBufferBytes;
  // A record that does not fit needs a larger buffer.
  if (left >= kBufferBytes / 2) room = 2 * left;
  if (left > kMostRecordBytes) {
    // Lines before it are counted already.
    fail(0,
         fmt::format("a record of more than {} MiB", kMostRecordBytes >> 20));
  }
  if (left > 0) std::memmove(buffer_.data(), buffer_.data() + used_, left);
  buffer_.resize(left + room + kPadding);
  used_ = 0;
  size_ = left;
  while (size_ < left + room && !is_at_end_) {
    if (file_ < 0) {
      const std::size_t part =
          text_.copy(buffer_.data() + size_, left + room - size_);
      text_.remove_prefix(part);
      size_ += part;
      is_at_end_ = text_.empty();
      continue;
    }
    const ssize_t count =
        ::read(file_, buffer_.data() + size_, left + room - size_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw Error(ErrorCode::kUnavailable, where_, "cannot be read: {}",
                  std::generic_category().message(errno));
    }
    if (count == 0) is_at_end_ = true;
    size_ += static_cast<std::size_t>(count);
  }
  // What is behind the end is no mark of anything.
  std::memset(buffer_.data() + size_, ' ', kPadding);
  mark_ends();
}

// Places are written eight at a time, whether there are as many or not: a loop
// that asks ends where the processor did not foresee it.
void CsvRows::mark_ends() {
  constexpr std::size_t kTogether = 8;
  std::size_t count = 0;
  buffer_lines_ = 0;
  for (std::size_t begin = 0; begin < size_; begin += 64) {
    const Marks marks = marks_of(buffer_.data() + begin);
    if (marks.has_zero) fail(buffer_.find('\0', begin), "a zero byte");
    buffer_lines_ += marks.lines;
    std::uint64_t bits = marks.ends;
    const auto more = static_cast<std::size_t>(std::popcount(bits));
    if (ends_.size() < count + 64 + kTogether) ends_.resize(2 * (count + 64));
    std::uint32_t* to = ends_.data() + count;
    for (std::size_t i = 0; i < more; i += kTogether) {
      for (std::size_t k = 0; k < kTogether; ++k, bits &= bits - 1) {
        to[i + k] = static_cast<std::uint32_t>(begin) +
                    static_cast<std::uint32_t>(std::countr_zero(bits));
      }
    }
    count += more;
  }
  ends_.resize(std::max(ends_.size(), count + 1));
  ends_[count] = static_cast<std::uint32_t>(size_);
  next_end_ = 0;
}

// Where the next comma, line end or quote is, at `from` or behind it; size_ if
// there is none. What is asked for next is never before it.
std::size_t CsvRows::find_end(std::size_t from) {
  while (ends_[next_end_] < from) ++next_end_;
  return ends_[next_end_];
}

bool CsvRows::next(ColumnBatch& batch) {
  if (batch.columns.size() != names_.size()) {
    batch.columns.assign(names_.size(), Column());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      batch.columns[i].name = names_[i];
    }
  }
  batch.clear();
  if (used_ > 0 || size_ == 0) fill();
  for (;;) {
    while (read_record(batch)) ++batch.rows;
    if (batch.rows > 0) break;
    if (is_at_end_) return false;
    fill();
  }
  set_lengths(batch);
  return true;
}

// Rows have one value each, but those that have none.
void CsvRows::set_lengths(ColumnBatch& batch) {
  for (std::size_t i = 0; i < batch.columns.size(); ++i) {
    auto& lengths = batch.columns[i].levels[0];
    lengths.assign(static_cast<std::size_t>(batch.rows), 1);
    for (const std::int64_t row : missing_[i]) {
      lengths[static_cast<std::size_t>(row)] = -1;
    }
    missing_[i].clear();
  }
}

std::string_view CsvRows::trimmed(std::size_t begin, std::size_t end) const {
  while (begin < end && is_blank(buffer_[begin])) ++begin;
  while (begin < end && is_blank(buffer_[end - 1])) --end;
  return {buffer_.data() + begin, end - begin};
}

// The next record into a row of `batch`; false, and nothing changed, where it
// does not end in the buffer.
bool CsvRows::read_record(ColumnBatch& batch) {
  const char* bytes = buffer_.data();
  while (used_ < size_ && is_line_end(bytes[used_])) ++used_;
  if (used_ == size_) return false;
  std::size_t begin = used_;
  for (std::size_t column = 0;; ++column) {
    std::size_t end = find_end(begin);
    std::string_view field;
    if (end < size_ && bytes[end] == '"') {
      if (!trimmed(begin, end).empty()) {
        // RFC 4180 forbids it (rule 5), and a guess would shift fields.
        fail(end, "a quote in the middle of a field");
      }
      end = read_quoted(end, batch, field);
    } else {
      field = trimmed(begin, end);
    }
    if (end == size_ && !is_at_end_) {
      take_back(batch, column);
      return false;
    }
    if (column >= batch.columns.size()) {
      if (!names_.empty()) {
        fail(used_, fmt::format("more fields than the {} of the first record",
                                names_.size()));
      }
      if (column == kMostFeatures) {
        fail(used_, fmt::format("more than {} fields", kMostFeatures));
      }
      batch.columns.emplace_back();
    }
    if (is_missing_text(field)) {
      missing_.resize(std::max(missing_.size(), batch.columns.size()));
      missing_[column].push_back(batch.rows);
    } else {
      // Its two halves one by one: the processor would wait for both, to copy
      // what it has just written as a whole.
      batch.columns[column].values.emplace_back(field.data(), field.size());
    }
    if (end == size_ || bytes[end] != ',') {
      if (column + 1 != batch.columns.size()) {
        fail(used_, fmt::format("{} fields, but the first record has {}",
                                column + 1, batch.columns.size()));
      }
      used_ = std::min(end + 1, size_);
      return true;
    }
    begin = end + 1;
  }
}

// A quoted field from its opening quote on; returns the place of what ends it.
std::size_t CsvRows::read_quoted(std::size_t begin, ColumnBatch& batch,
                                 std::string_view& field) {
  const char* bytes = buffer_.data();
  bool has_doubled = false;
  std::size_t close = begin;
  for (;;) {
    close = find_end(close + 1);
    if (close == size_) {
      if (is_at_end_)
        fail(begin, "a quote that is opened here is never closed");
      return size_;
    }
    if (bytes[close] != '"') continue;
    // Whether the next byte doubles it is not known at the end of the buffer.
    if (close + 1 == size_ && !is_at_end_) return size_;
    if (close + 1 == size_ || bytes[close + 1] != '"') break;
    has_doubled = true;
    ++close;
  }
  std::size_t end = close + 1;
  while (end < size_ && is_blank(bytes[end])) ++end;
  if (end < size_ && bytes[end] != ',' && !is_line_end(bytes[end])) {
    fail(end, fmt::format("'{}' behind a closing quote", bytes[end]));
  }
  field = {bytes + begin + 1, close - begin - 1};
  if (has_doubled) {
    std::string plain;
    for (std::size_t i = 0; i < field.size(); ++i) {
      plain += field[i];
      // Inside of quotes, two quotes stand for one (RFC 4180, rule 7).
      if (field[i] == '"') ++i;
    }
    field = batch.texts.emplace_back(std::move(plain));
  }
  return end;
}

// What was read of a record that goes on behind the buffer.
void CsvRows::take_back(ColumnBatch& batch, std::size_t columns) {
  if (names_.empty()) {
    batch.columns.clear();
    missing_.clear();
    return;
  }
  for (std::size_t i = 0; i < columns; ++i) {
    if (!missing_[i].empty() && missing_[i].back() == batch.rows) {
      missing_[i].pop_back();
    } else {
      batch.columns[i].values.pop_back();
    }
  }
}

void CsvRows::fail(std::size_t place, const std::string& reason) const {
  const auto begin = buffer_.begin();
  const auto lines = std::count(
      begin, begin + static_cast<std::ptrdiff_t>(std::min(place, size_)), '\n');
  throw Error(ErrorCode::kDataLoss,
              fmt::format("{}:{}", where_,
                          lines_ + static_cast<std::size_t>(lines) + 1),
              std::string(reason));
}

}  // namespace weft::validation
