#include "weft/validation/limited_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace weft::validation {
namespace {

constexpr std::size_t kMostOutput = 4096;
// What shells answer for a program that is not there.
constexpr int kNotFound = 127;

// Only what may be called between fork() and exec(): other threads of this
// process may have held any lock.
[[noreturn]] void become(char* const* arguments, int output,
                         std::size_t memory) {
  ::setpgid(0, 0);
  const rlimit limit{memory, memory};
  ::setrlimit(RLIMIT_AS, &limit);
  const int none = ::open("/dev/null", O_RDONLY);
  ::dup2(none, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::execvp(arguments[0], arguments);
  ::_exit(kNotFound);
}

// Reads until the other end is closed, or the time is over: says which.
bool read_until(int descriptor, std::chrono::steady_clock::time_point until,
                std::string& output) {
  std::array<char, 4096> piece;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd wait{descriptor, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    output.append(piece.data(), static_cast<std::size_t>(count));
    if (output.size() > kMostOutput) {
      output.erase(0, output.size() - kMostOutput);
    }
  }
}

}  // namespace

LimitedResult run_limited(const std::vector<std::string>& command,
                          const ProcessLimits& limits) {
  WEFT_CHECK(!command.empty());
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    // The interface takes pointers to char, and does not write to them.
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  std::array<int, 2> pipe{};
  const auto fail = [&] {
    throw Error(ErrorCode::kUnavailable, command[0], "cannot be started: {}",
                std::generic_category().message(errno));
  };
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) fail();
  const pid_t child = ::fork();
  if (child == 0) become(arguments.data(), pipe[1], limits.memory_bytes);
  ::close(pipe[1]);
  if (child < 0) {
    ::close(pipe[0]);
    fail();
  }
  LimitedResult result;
  const auto until = std::chrono::steady_clock::now() + limits.time;
  result.is_out_of_time = !read_until(pipe[0], until, result.output);
  ::close(pipe[0]);
  // Whatever it has started ends with it.
  ::kill(-child, SIGKILL);
  if (result.is_out_of_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (result.exit_code == kNotFound && result.output.empty()) {
    throw Error(ErrorCode::kUnavailable, command[0],
                "there is no such program");
  }
  return result;
}

}  // namespace weft::validation
