#include "weft/base/process.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern char** environ;

namespace weft {
namespace {

// The last lines say why a program ended; a chatty one must not fill memory.
constexpr std::size_t kMostErrors = 4096;

[[noreturn]] void fail(const std::string& program, int reason) {
  throw Error(ErrorCode::kUnavailable, program, "cannot be started: {}",
              std::generic_category().message(reason))
      .hint(fmt::format("is {} installed?", program));
}

std::string read_tail(int descriptor) {
  std::string text;
  std::array<char, 1024> piece{};
  for (;;) {
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
    // Everything is read all the same, or the program would wait for room in
    // the pipe.
    if (text.size() > kMostErrors) text.erase(0, text.size() - kMostErrors);
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command) {
  WEFT_CHECK(!command.empty());
  std::vector<char*> arguments;
  for (const auto& word : command) {
    // The interface takes pointers to char, and does not write to them.
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);

  std::array<int, 2> pipe{};
  // The child keeps the end that it gets as standard error, and no other.
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) fail(command[0], errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 2);
  pid_t child = 0;
  const int reason = ::posix_spawnp(&child, arguments[0], &actions, nullptr,
                                    arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  // Only the child has the writing end now, so that its end ends the reading.
  ::close(pipe[1]);
  if (reason != 0) {
    ::close(pipe[0]);
    fail(command[0], reason);
  }

  ProcessResult result;
  result.errors = read_tail(pipe[0]);
  ::close(pipe[0]);
  int status = 0;
  // A signal to this process does not end the wait.
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code =
      // Shells count the death by a signal the same way.
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace weft
