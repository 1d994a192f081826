// What was asked of the server, a JSON object a line, so that it can be held
// against the data of training (weft validate skew).
//
// A line has the features of one row: an input of a request to infer under its
// name, with the numbers of that row; the columns of a row that a person gave
// under theirs. Beside them stand "id", if the request has one, "weft.model",
// "weft.version" and "weft.time", seconds since 1970.
//
// Threads: thread-safe; a line is written as a whole, before the answer is
// given, and is in the file when the server ends or is killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "weft/files/safetensors.h"
#include "weft/serve/predictions.h"

namespace weft::serve {

class RequestLog {
 public:
  // Goes on behind what the file has. At `most_bytes` nothing more is written,
  // and the server's own log says so. Throws Error(kUnavailable) for a file
  // that cannot be written.
  RequestLog(const std::filesystem::path& path, std::uint64_t most_bytes);
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  // Whose request it is.
  struct Source {
    std::string model;
    std::string version;
    std::string id = {};
  };
  // A line for each row; the first axis of all `inputs` is that of the rows.
  static std::string lines_of(const Source& source,
                              const std::vector<NamedTensor>& inputs);
  // A line for each row of a table, or one of "age=39,job=baker"; nothing for
  // pictures and sentences, which have no features.
  static std::string lines_of(const Source& source, const PersonInput& input);
  // Writes the lines of a request.
  void add(const std::string& lines);

 private:
  std::filesystem::path path_;
  std::uint64_t most_bytes_;
  std::mutex mutex_;
  int file_ = -1;
  std::uint64_t bytes_ = 0;
  bool is_full_ = false;
};

}  // namespace weft::serve
