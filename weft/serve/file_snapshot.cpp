#include "weft/serve/file_snapshot.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "weft/base/error.h"

namespace weft::serve {
namespace {

Error system_error(ErrorCode code, const std::filesystem::path& path) {
  return {code, path.string(), "{}", std::strerror(errno)};
}

// Closes what it holds when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace

FileSnapshot::FileSnapshot(const std::filesystem::path& path) {
  const Descriptor source(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.get() < 0) throw system_error(ErrorCode::kUnavailable, path);
  Descriptor copy(memfd_create(path.filename().c_str(), MFD_CLOEXEC));
  if (copy.get() < 0) throw system_error(ErrorCode::kExhausted, path);
  std::vector<char> piece(std::size_t{1} << 20);
  while (true) {
    const ssize_t size = read(source.get(), piece.data(), piece.size());
    if (size < 0) throw system_error(ErrorCode::kUnavailable, path);
    if (size == 0) break;
    if (write(copy.get(), piece.data(), static_cast<std::size_t>(size)) !=
        size) {
      throw system_error(ErrorCode::kExhausted, path);
    }
  }
  descriptor_ = copy.release();
  path_ = fmt::format("/proc/self/fd/{}", descriptor_);
}

FileSnapshot::~FileSnapshot() { close(descriptor_); }

}  // namespace weft::serve
