#include "weft/base/secret_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "weft/base/error.h"

namespace weft {
namespace {

Error secret_failure(const std::filesystem::path& path, const char* what,
                     int reason) {
  return Error(ErrorCode::kUnavailable, path.string(), "{}: {}", what,
               std::generic_category().message(reason));
}

}  // namespace

void write_secret(const std::filesystem::path& path, std::string_view content) {
  // The file has its mode before it has its content.
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    throw secret_failure(path, "the key cannot be written here", errno);
  const bool is_whole =
      ::write(file, content.data(), content.size()) == std::ssize(content) &&
      ::fsync(file) == 0;
  const int reason = errno;
  ::close(file);
  if (is_whole) return;
  ::unlink(path.c_str());
  throw secret_failure(path, "a key cannot be written", reason);
}

void check_secret(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw secret_failure(path, "the key cannot be read", errno);
  }
  if ((status.st_mode & 077) == 0) return;
  throw Error(ErrorCode::kInvalidArgument, path.string(),
              "others may read this key, or write it (mode {:04o})",
              status.st_mode & 07777)
      .hint(fmt::format("chmod 600 {}, and a new key if they have",
                        path.string()));
}

}  // namespace weft
