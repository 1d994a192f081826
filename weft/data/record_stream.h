// The records of a CSV text that arrives: from a pipe, a FIFO, standard input
// or a file that is read once, from its beginning to its end.
//
// Threads: a stream belongs to one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace weft {

class RecordStream {
 public:
  // Opening a FIFO waits for who writes. Throws Error(kUnavailable) for a file
  // that cannot be opened.
  explicit RecordStream(std::filesystem::path path);
  ~RecordStream();
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  // The text of the next `most` records, which end with LF or CR LF; fewer at
  // the end, and none behind it. Waits until they are there. Empty lines are
  // no records, and a line end within quotes ends none. Throws
  // Error(kUnavailable) where reading fails, Error(kDataLoss) for a record of
  // more than kMostRecordBytes.
  std::string next(std::size_t most);

  // On which line, from 1, the text begins that next() will return.
  std::size_t line() const { return line_; }
  const std::filesystem::path& path() const { return path_; }

  static constexpr std::size_t kMostRecordBytes = std::size_t{16} << 20;

 private:
  bool fill();

  std::filesystem::path path_;
  int file_;
  std::string waiting_;  // what has arrived and was not returned
  std::size_t line_ = 1;
};

}  // namespace weft
