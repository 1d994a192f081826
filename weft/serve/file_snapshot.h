// A file as it was at one moment. Weft's own files are replaced, never
// overwritten, so that they can be mapped; but whoever copies a new version
// over the one that is served shortens it for a moment, and a map of it would
// end the server. So it serves from a copy in memory, which has a path of its
// own.
//
// Threads: immutable.
#pragma once

#include <filesystem>

namespace weft::serve {

class FileSnapshot {
 public:
  // Copies the file. Throws Error(kUnavailable) if it cannot be read, and
  // Error(kExhausted) if the copy has no room.
  explicit FileSnapshot(const std::filesystem::path& path);
  ~FileSnapshot();
  FileSnapshot(const FileSnapshot&) = delete;
  FileSnapshot& operator=(const FileSnapshot&) = delete;

  // Good as long as this is there, in this process.
  const std::filesystem::path& path() const { return path_; }

 private:
  int descriptor_ = -1;
  std::filesystem::path path_;
};

}  // namespace weft::serve
