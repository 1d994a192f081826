#include "weft/base/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryMark = ".tmp-";

std::string reason_text(int reason) {
  return std::generic_category().message(reason);
}

Error system_error(const char* action, const fs::path& path, int reason) {
  // The caller can mend these by making room, all others by another path.
  const bool is_full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  Error error(is_full ? ErrorCode::kExhausted : ErrorCode::kUnavailable,
              path.string(),
              fmt::format("cannot {}: {}", action, reason_text(reason)));
  if (is_full) error.hint("free some space or choose another folder");
  return error;
}

// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : value_(::open(path.c_str(), flags | O_CLOEXEC)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

struct stat status_of(int descriptor, const fs::path& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    throw system_error("read", path, errno);
  }
  // A folder can be opened, and only reading it would fail.
  if (S_ISDIR(status.st_mode)) throw system_error("read", path, EISDIR);
  return status;
}

// Some file systems cannot flush a folder; they say EINVAL.
void flush_folder(const fs::path& folder) {
  const Descriptor descriptor(folder, O_RDONLY | O_DIRECTORY);
  if (descriptor.get() < 0) throw system_error("open", folder, errno);
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) {
    throw system_error("flush", folder, errno);
  }
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Where a link leads, which need not be there yet: the file is what is written,
// not the link.
fs::path without_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as the system follows
  std::error_code error;
  for (int i = 0; fs::is_symlink(path, error); ++i) {
    if (i == kMostLinks) throw system_error("follow the links of", path, ELOOP);
    // A path from the root takes the place of the folder.
    path = folder_of(path) / fs::read_symlink(path, error);
    if (error) throw system_error("read the link", path, error.value());
  }
  return path;
}

// Pipes and devices are written to, where a file is replaced.
bool is_stream(const fs::path& path) {
  std::error_code missing;
  const fs::file_status status = fs::status(path, missing);
  return fs::exists(status) && !fs::is_regular_file(status) &&
         !fs::is_directory(status);
}

// ".name.tmp-PID-N": hidden, unique among running processes, and traceable
// to its writer.
fs::path temporary_for(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  return folder_of(path) / fmt::format(".{}{}{}-{}", path.filename().string(),
                                       kTemporaryMark, ::getpid(),
                                       counter.fetch_add(1));
}

}  // namespace

std::string read_text(const fs::path& path, std::size_t limit) {
  const Descriptor file(path, O_RDONLY);
  if (file.get() < 0) throw system_error("open", path, errno);
  const struct stat status = status_of(file.get(), path);

  std::string text;
  if (S_ISREG(status.st_mode)) {
    // The size is a hint: the file may grow while it is read, and a pipe has
    // none.
    text.reserve(std::min(limit, static_cast<std::size_t>(status.st_size)) + 1);
  }
  std::vector<char> piece(std::size_t{64} << 10);
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error("read", path, errno);
    if (count == 0) return text;
    if (text.size() + static_cast<std::size_t>(count) > limit) {
      throw Error(ErrorCode::kExhausted, path.string(),
                  "larger than the {} bytes allowed here", limit);
    }
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

MappedFile::MappedFile(const fs::path& path) {
  // O_NONBLOCK: opening a pipe must fail below instead of waiting.
  const Descriptor file(path, O_RDONLY | O_NONBLOCK);
  if (file.get() < 0) throw system_error("open", path, errno);
  const struct stat status = status_of(file.get(), path);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::kUnavailable, path.string(), "not a regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  // mmap refuses to map nothing.
  if (size == 0) return;
  // The mapping outlives the descriptor, which closes at the end of this
  // function. Pages are read as they are touched.
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) throw system_error("map", path, errno);
  bytes_ = {static_cast<const std::uint8_t*>(data), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  // What this one held is unmapped with the other one.
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
  }
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  if (is_stream(path_)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw system_error("open", path_, errno);
    return;
  }
  path_ = without_links(path_);
  temporary_ = temporary_for(path_);
  descriptor_ =
      // The file stands beside its target, as a rename is atomic within one
      // file system alone.
      ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw system_error("create", path_, errno);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  // The system may take a part of what it is given.
  while (size > 0) {
    const ssize_t count = ::write(descriptor_, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", errno);
    next += count;
    size -= static_cast<std::size_t>(count);
  }
}

void AtomicFile::commit() {
  if (temporary_.empty()) {
    // A pipe or a device: it has the bytes already.
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("close", errno);
    return;
  }
  // The bytes reach the disk before the name does: after a crash the name never
  // leads to a file that is cut off.
  if (::fsync(descriptor_) != 0) fail("flush", errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("close", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename", errno);
  // The new file has its name: from here on there is nothing to undo.
  temporary_.clear();
  // The name itself is a part of the folder, which has to reach the disk as
  // well.
  flush_folder(folder_of(path_));
}

void AtomicFile::fail(const char* action, int reason) {
  discard();
  throw system_error(action, path_, reason);
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void link_file(const fs::path& source, const fs::path& target) {
  // link() replaces nothing, so that the link is made beside the target and
  // renamed onto it.
  const fs::path temporary = temporary_for(target);
  // Some file systems have no hard links, and none has them across disks.
  if (::link(source.c_str(), temporary.c_str()) != 0) {
    const MappedFile original(source);
    AtomicFile copy(target);
    copy.write(original.bytes().data(), original.bytes().size());
    copy.commit();
    return;
  }
  if (::rename(temporary.c_str(), target.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    throw system_error("rename", target, reason);
  }
  // When both are already one file, rename does nothing and leaves the link.
  ::unlink(temporary.c_str());
  flush_folder(folder_of(target));
}

void create_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw system_error("create the folder", folder, error.value());
}

void remove_stale_temporaries(const fs::path& folder) noexcept {
  try {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      const std::size_t mark = name.rfind(kTemporaryMark);
      if (name.empty() || name[0] != '.' || mark == std::string::npos) {
        continue;
      }
      const char* digits = name.data() + mark + kTemporaryMark.size();
      const char* end = name.data() + name.size();
      pid_t writer = 0;
      const auto parsed = std::from_chars(digits, end, writer);
      const bool is_ours = parsed.ec == std::errc() && parsed.ptr != end &&
                           *parsed.ptr == '-' && writer > 0;
      // Signal 0 asks only whether the process exists. One of another user
      // exists too, and answers EPERM.
      if (is_ours && ::kill(writer, 0) != 0 && errno == ESRCH) {
        ::unlink(entry.path().c_str());
      }
    }
  } catch (const std::exception&) {
    // Litter is not worth an error.
  }
}

}  // namespace weft
