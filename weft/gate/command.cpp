#include "weft/gate/command.h"

#include <algorithm>
#include <cerrno>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "weft/base/error.h"

extern char** environ;

namespace weft {
namespace {

constexpr std::size_t kMostCommandErrors = 2048;

[[noreturn]] void fail_command(const std::string& program, int reason) {
  throw Error(ErrorCode::kUnavailable, program, "cannot be run: {}",
              std::generic_category().message(reason));
}

// A file in memory: unlike a pipe it never makes either side wait.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& program)
      : program_(program),
        descriptor_(::memfd_create("weft-gate", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail_command(program_, errno);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }
  std::size_t size() const {
    return static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END));
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_command(program_, errno);
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    ::lseek(descriptor_, 0, SEEK_SET);
  }
  // The bytes from `begin` on.
  std::string read(std::size_t begin) const {
    std::string text(size() - begin, '\0');
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t count =
          ::pread(descriptor_, text.data() + have, text.size() - have,
                  static_cast<off_t>(begin + have));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail_command(program_, count < 0 ? errno : EIO);
      have += static_cast<std::size_t>(count);
    }
    return text;
  }

 private:
  const std::string& program_;
  int descriptor_;
};

pid_t start_command(const std::vector<std::string>& command,
                    const std::string& folder, const MemoryFile& input,
                    const MemoryFile& output, const MemoryFile& errors) {
  std::vector<char*> arguments;
  for (const auto& word : command) {
    // The interface takes pointers to char, and does not write to them.
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.descriptor(), 0);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), 1);
  posix_spawn_file_actions_adddup2(&actions, errors.descriptor(), 2);
  if (!folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  }
  pid_t child = 0;
  const int reason = ::posix_spawnp(&child, arguments[0], &actions, nullptr,
                                    arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (reason != 0) fail_command(command[0], reason);
  return child;
}

}  // namespace

std::string ask_command(const std::vector<std::string>& command,
                        std::string_view input,
                        const std::filesystem::path& folder,
                        std::size_t limit) {
  WEFT_CHECK(!command.empty());
  MemoryFile in(command[0]);
  const MemoryFile out(command[0]);
  const MemoryFile errors(command[0]);
  in.write(input);
  const pid_t child = start_command(command, folder.string(), in, out, errors);
  int status = 0;
  // A signal to this process does not end the wait.
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::size_t size = errors.size();
    throw Error(ErrorCode::kUnavailable, command[0], "{}",
                WIFEXITED(status)
                    ? fmt::format("failed with {}", WEXITSTATUS(status))
                    : fmt::format("ended by signal {}", WTERMSIG(status)))
        .detail(errors.read(size - std::min(size, kMostCommandErrors)));
  }
  if (out.size() > limit) {
    throw Error(ErrorCode::kUnavailable, command[0],
                "wrote {} bytes, at most {} are taken", out.size(), limit);
  }
  return out.read(0);
}

}  // namespace weft
