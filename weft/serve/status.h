// How a request ends other than with results: one list for all transports, each
// of which has codes of its own for it.
//
// Threads: value types.
#pragma once

#include <string_view>

#include "weft/base/error.h"

namespace weft::serve {

enum class Status {
  kOk,
  kBadRequest,    // it cannot be understood, or does not fit the model
  kUnauthorized,  // the token is missing or another one
  kNotFound,      // there is no such model, version or page
  kBadMethod,     // the page is there, for another method
  kTooLarge,      // more bytes than the server takes
  kFull,          // the model's queue has no place left
  kCancelled,     // the client went away, or said so
  kInternal,      // the server's mistake
  kUnavailable,   // the model is not loaded, or the server is going away
  kExpired,       // the deadline passed before the request's turn came
};

inline constexpr std::size_t kStatusCount = 11;

// "ok", "bad_request", …: what metrics call it.
std::string_view name_of(Status status);
// 200, 400, ….
int http_code(Status status);

// A request that is refused. Its `where` names the field: "inputs[0].data".
class Refusal : public Error {
 public:
  template <class... Args>
  Refusal(Status status, std::string_view where,
          fmt::format_string<Args...> format, Args&&... args)
      : Error(code_of(status), std::string(where),
              fmt::format(format, std::forward<Args>(args)...)),
        status_(status) {}

  Status status() const { return status_; }

 private:
  static ErrorCode code_of(Status status);

  Status status_;
};

// What an error that was thrown for a request means to who sent it.
Status status_of(const Error& error);

}  // namespace weft::serve
