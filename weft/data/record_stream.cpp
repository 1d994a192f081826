#include "weft/data/record_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "weft/base/error.h"

namespace weft {

RecordStream::RecordStream(std::filesystem::path path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ >= 0) return;
  throw Error(ErrorCode::kUnavailable, path_.string(), "cannot be opened: {}",
              std::generic_category().message(errno));
}

RecordStream::~RecordStream() { ::close(file_); }

// Appends what has arrived, and waits if nothing has; false at the end.
bool RecordStream::fill() {
  std::array<char, 64 << 10> buffer;
  ssize_t count;
  // A signal may interrupt the wait, which is no failure.
  do {
    count = ::read(file_, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    throw Error(ErrorCode::kUnavailable, path_.string(), "cannot be read: {}",
                std::generic_category().message(errno));
  }
  waiting_.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::string RecordStream::next(std::size_t most) {
  std::size_t records = 0;
  std::size_t begin = 0;  // of the record that is looked at
  std::size_t at = 0;
  bool is_quoted = false;
  bool is_empty = true;
  while (records < most) {
    if (at == waiting_.size()) {
      // A stream may never end its line, and memory is finite.
      if (at - begin > kMostRecordBytes) {
        throw Error(ErrorCode::kDataLoss, path_.string(),
                    "a record of more than {} bytes", kMostRecordBytes)
            .hint("is a quote left open, or does no line end?");
      }
      if (fill()) continue;
      // The last line may end with the stream.
      break;
    }
    const char c = waiting_[at++];
    // A quote within quotes is written twice, which leaves and enters again.
    if (c == '"') is_quoted = !is_quoted;
    if (c != '\n' || is_quoted) {
      is_empty = is_empty && c == '\r';
      continue;
    }
    // Empty lines are no records, as for the reader of what is returned.
    records += !is_empty;
    is_empty = true;
    begin = at;
  }
  // What lies behind is a part of the next record.
  std::string text = waiting_.substr(0, at);
  waiting_.erase(0, at);
  line_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
  return text;
}

}  // namespace weft
