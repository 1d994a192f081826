// Comma-separated values (RFC 4180): fields may be quoted, quotes doubled,
// lines end with LF or CRLF; empty lines are skipped.
//
// Threads: a reader belongs to one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"

namespace weft {

class CsvReader {
 public:
  // `text` must outlive the reader; `where` names it in errors, and `line` is
  // where it begins in there.
  CsvReader(std::string_view text, std::string where, std::size_t line = 1);

  // The next record, without outer quotes and blanks; false at the end. The
  // fields stay until the next call.
  // Throws Error(kDataLoss) with the line for an open quote, text behind a
  // closing quote, a zero byte, or a record of another length than the first.
  bool next(std::vector<std::string>& fields);

  // Says where the record that next() returned began, from 1.
  std::size_t line() const { return record_line_; }

 private:
  void read_quoted(std::string& field);
  void read_plain(std::string& field);
  bool ends_record();
  [[noreturn]] void fail(std::size_t line, const std::string& reason) const;

  std::string_view text_;
  std::string where_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 0;
  std::size_t columns_ = 0;
};

// The whole of `text` as a finite number; false if it is none.
bool parse_number(std::string_view text, double& value);

}  // namespace weft
