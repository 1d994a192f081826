#include "weft/serve/status.h"

#include <array>

namespace weft::serve {
namespace {

struct Row {
  std::string_view name;
  int http;
  ErrorCode code;
};

// In the order of Status. 499 is nginx's: no client is left that could read it.
constexpr std::array<Row, kStatusCount> kRows = {{
    {"ok", 200, ErrorCode::kInternal},
    {"bad_request", 400, ErrorCode::kInvalidArgument},
    {"unauthorized", 401, ErrorCode::kInvalidArgument},
    {"not_found", 404, ErrorCode::kInvalidArgument},
    {"bad_method", 405, ErrorCode::kInvalidArgument},
    {"too_large", 413, ErrorCode::kExhausted},
    {"full", 429, ErrorCode::kExhausted},
    {"cancelled", 499, ErrorCode::kCancelled},
    {"internal", 500, ErrorCode::kInternal},
    {"unavailable", 503, ErrorCode::kUnavailable},
    {"expired", 504, ErrorCode::kExhausted},
}};

const Row& row_of(Status status) {
  return kRows.at(static_cast<std::size_t>(status));
}

}  // namespace

std::string_view name_of(Status status) { return row_of(status).name; }
int http_code(Status status) { return row_of(status).http; }
ErrorCode Refusal::code_of(Status status) { return row_of(status).code; }

Status status_of(const Error& error) {
  if (const auto* refusal = dynamic_cast<const Refusal*>(&error)) {
    return refusal->status();
  }
  // What a run throws about its arguments, an index outside of its axis say, is
  // who sent them to mend.
  return error.code() == ErrorCode::kInvalidArgument ? Status::kBadRequest
                                                     : Status::kInternal;
}

}  // namespace weft::serve
