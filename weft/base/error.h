// The one exception of Weft: what went wrong, where, and how to mend it.
//
// Throw it for what a caller or a file got wrong; assert with WEFT_CHECK what
// only a defect of Weft can break. Kernels never throw.
//
// The text of `what()` is made for a person:
//
//   conv2d: channels do not match
//     input  x: f32[128, 28, 28, 1]
//     built at: model.cpp:41, in mnist_cnn()
//     hint: the weight's third dim must equal the input's last dim
#pragma once

#include <exception>
#include <fmt/core.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

enum class ErrorCode {
  kInvalidArgument,  // the caller's mistake: a shape, an option, a recipe
  kUnsupported,      // well-formed, but nothing here can do it
  kUnavailable,      // a file, device or peer that is not there
  kDataLoss,         // damaged bytes
  kCancelled,        // stopped on request
  kExhausted,        // out of memory, disk or time
  kNumeric,          // NaN or infinity where a number was due
  kInternal,         // a defect of Weft
};

std::string_view to_string(ErrorCode code);

class Error : public std::exception {
 public:
  // `where` names the operation or the file ("conv2d", "digits.toml:12").
  template <class... Args>
  Error(ErrorCode code, std::string_view where,
        fmt::format_string<Args...> format, Args&&... args)
      : Error(code, where, fmt::string_view(format),
              fmt::format_args(fmt::make_format_args(args...))) {}
  Error(ErrorCode code, std::string where, std::string message);

  // These are not inline, nor is what makes the texts above and below, since a
  // hundred sources throw errors and would each compile them.
  Error(const Error& other);
  Error(Error&& other) noexcept;
  Error& operator=(const Error& other);
  Error& operator=(Error&& other) noexcept;
  ~Error() override;

  // Adds an indented line of context below the message.
  Error& detail(std::string_view line) &;
  Error&& detail(std::string_view line) && { return std::move(detail(line)); }

  // Says how to mend it; printed last.
  Error& hint(std::string_view text) &;
  Error&& hint(std::string_view text) && { return std::move(hint(text)); }

  ErrorCode code() const { return code_; }
  const std::string& where() const { return where_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Error(ErrorCode code, std::string_view where, fmt::string_view format,
        fmt::format_args args);
  void compose();

  ErrorCode code_;
  std::string where_;
  std::string message_;
  std::vector<std::string> details_;
  std::string hint_;
  std::string text_;
};

// The nearest of `known` to a mistyped `word` by edit distance, or "" when
// none is near. For "did you mean" hints.
std::string nearest(std::string_view word,
                    const std::vector<std::string>& known);

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file,
                               int line, fmt::string_view format,
                               fmt::format_args args);

template <class... Args>
[[noreturn]] void check_failed(const char* condition, const char* file,
                               int line, fmt::format_string<Args...> format,
                               Args&&... args) {
  check_failed(condition, file, line, fmt::string_view(format),
               fmt::format_args(fmt::make_format_args(args...)));
}
}  // namespace detail
}  // namespace weft

// Kept in release builds: a broken invariant must not become a wrong number.
#define WEFT_CHECK(condition, ...)                                 \
  do {                                                             \
    if (!(condition)) [[unlikely]]                                 \
      ::weft::detail::check_failed(#condition, __FILE__, __LINE__, \
                                   "" __VA_ARGS__);                \
  } while (false)
