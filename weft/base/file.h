// Files as wholes: bounded reads, read-only maps, and writes that happen
// entirely or not at all.
//
// Threads: free functions are thread-safe; objects are for one thread, except
//          that a MappedFile's bytes may be read from any.
// Errors:  Error(kUnavailable) for a file that cannot be opened or written,
//          Error(kExhausted) for a full disk, a quota or a size limit; both
//          name the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft {

using ByteSpan = std::span<const std::uint8_t>;

// The whole of a text file of at most `limit` bytes. Works on pipes too.
// Throws Error(kExhausted) if the file is larger.
std::string read_text(const std::filesystem::path& path,
                      std::size_t limit = std::size_t{64} << 20);

// A regular file's bytes, mapped read-only. An empty file has no bytes.
// The map keeps what was there only as long as nobody shortens the file in
// place: files of Weft itself are replaced, never shortened.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  ByteSpan bytes() const { return bytes_; }

 private:
  ByteSpan bytes_;
};

// Writes beside `path` and takes its place on commit(): whoever opens `path`
// sees the old file or the new one, also after a crash. Without commit() the
// old file stays and the temporary one is removed. A symbolic link stays, and
// what it leads to is written; a pipe or a device is written to as it is.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, std::size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Flushes to the disk, renames, flushes the folder.
  void commit();

 private:
  [[noreturn]] void fail(const char* action, int reason);
  void discard() noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// Writes `text` as the whole of `path`, atomically.
void write_file(const std::filesystem::path& path, std::string_view text);

// Makes `target` another name of the file `source` (a hard link where the
// file system has them, else a copy), atomically.
void link_file(const std::filesystem::path& source,
               const std::filesystem::path& target);

// Creates a folder and those above it.
void create_folders(const std::filesystem::path& folder);

// Removes temporary files that AtomicFile left in `folder` when its process
// was killed. Those of running processes stay.
void remove_stale_temporaries(const std::filesystem::path& folder) noexcept;

}  // namespace weft
