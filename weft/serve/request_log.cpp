#include "weft/serve/request_log.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "weft/data/csv.h"
#include "weft/data/records.h"
#include "weft/serve/log.h"

namespace weft::serve {
namespace {

using LoggedRow = nlohmann::ordered_json;

LoggedRow row_of(const RequestLog::Source& source) {
  const double now = std::chrono::duration<double>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
  LoggedRow row{{"weft.model", source.model},
                {"weft.version", source.version},
                {"weft.time", std::floor(now * 1000) / 1000}};
  if (!source.id.empty()) row["id"] = source.id;
  return row;
}

// Bytes that are no text must not keep a request from being answered.
std::string line_of(const LoggedRow& row) {
  return row.dump(-1, ' ', false, LoggedRow::error_handler_t::replace) + "\n";
}

void put(LoggedRow& row, const std::string& name, std::string_view field) {
  double number = 0;
  if (is_missing(field)) return;
  if (parse_number(field, number)) {
    row[name] = number;
  } else {
    row[name] = std::string(field);
  }
}

// The columns of "age=39,job=baker"; none of a text that is no row.
std::string row_lines(const RequestLog::Source& source,
                      const std::string& text) {
  LoggedRow row = row_of(source);
  CsvReader reader(text, "row");
  std::vector<std::string> fields;
  if (!reader.next(fields)) return "";
  for (const std::string& field : fields) {
    const std::size_t sign = field.find('=');
    if (sign == field.npos) return "";
    put(row, field.substr(0, sign), std::string_view(field).substr(sign + 1));
  }
  return line_of(row);
}

std::string table_lines(const RequestLog::Source& source,
                        const std::string& text) {
  const Records records(text, "upload", {.has_header = true});
  std::string lines;
  for (std::size_t i = 0; i < records.rows(); ++i) {
    LoggedRow row = row_of(source);
    for (std::size_t column = 0; column < records.names().size(); ++column) {
      put(row, records.names()[column], records.field(i, column));
    }
    lines += line_of(row);
  }
  return lines;
}

[[noreturn]] void fail_to(const char* action,
                          const std::filesystem::path& path) {
  throw Error(ErrorCode::kUnavailable, path.string(), "cannot be {}: {}",
              action, std::generic_category().message(errno));
}

}  // namespace

RequestLog::RequestLog(const std::filesystem::path& path,
                       std::uint64_t most_bytes)
    : path_(path), most_bytes_(most_bytes) {
  // What people ask is theirs: nobody but the owner reads it.
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) fail_to("opened", path);
  struct stat status {};
  if (::fstat(file_, &status) == 0) {
    bytes_ = static_cast<std::uint64_t>(status.st_size);
  }
}

RequestLog::~RequestLog() { ::close(file_); }

std::string RequestLog::lines_of(const Source& source,
                                 const std::vector<NamedTensor>& inputs) {
  if (inputs.empty() || inputs[0].tensor.shape().rank() == 0) return "";
  const Dim rows = inputs[0].tensor.shape()[0];
  std::string lines;
  for (Dim i = 0; i < rows; ++i) {
    LoggedRow row = row_of(source);
    for (const NamedTensor& input : inputs) {
      const std::int64_t width = input.tensor.size() / rows;
      LoggedRow numbers = LoggedRow::array();
      for (std::int64_t k = 0; k < width; ++k) {
        numbers.push_back(input.tensor.item(i * width + k));
      }
      row[input.name] = width == 1 ? numbers[0] : std::move(numbers);
    }
    lines += line_of(row);
  }
  return lines;
}

std::string RequestLog::lines_of(const Source& source,
                                 const PersonInput& input) {
  try {
    return input.file ? table_lines(source, *input.file)
                      : row_lines(source, input.text);
  } catch (const Error&) {
    // What is no table is no row; the model says what it makes of it.
    return "";
  }
}

void RequestLog::add(const std::string& lines) {
  const std::lock_guard lock(mutex_);
  if (lines.empty() || is_full_) return;
  if (bytes_ + lines.size() > most_bytes_) {
    is_full_ = true;
    log("{} is full: requests are answered, and no more of them written",
        path_.string());
    return;
  }
  // One call, so that the lines stay together, and none is left half written
  // by a signal.
  const ssize_t written = ::write(file_, lines.data(), lines.size());
  if (written == static_cast<ssize_t>(lines.size())) {
    bytes_ += lines.size();
    return;
  }
  is_full_ = true;
  const int reason = written < 0 ? errno : ENOSPC;
  // Whoever reads the log would stop at half a line.
  const bool is_whole =
      written <= 0 || ::ftruncate(file_, static_cast<off_t>(bytes_)) == 0;
  log("{} cannot be written: {}; no more requests are{}", path_.string(),
      std::generic_category().message(reason),
      is_whole ? "" : ", and its last line is not whole");
}

}  // namespace weft::serve
