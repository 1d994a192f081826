// Requests and answers of the open inference protocol as JSON, with the binary
// tensor extension: the bytes of tensors may follow the JSON, whose length a
// header of HTTP says.
//
// Threads: pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weft/serve/server.h"

namespace weft::serve {

// How the outputs of an answer are to be written.
struct AnswerForm {
  bool is_binary = false;  // of outputs that are not listed
  std::map<std::string, bool> listed = {};

  bool is_binary_of(const std::string& output) const;
};

struct JsonRequest {
  InferCall call;  // without the model's name and version, which the path has
  AnswerForm form;
};

// `json_size` is that of the JSON in the body, where bytes follow it. Throws
// Refusal(kBadRequest) that names the field and the position of what is wrong.
// Allocates in proportion to the body.
JsonRequest parse_infer_request(std::string_view body,
                                std::optional<std::size_t> json_size = {});

// Whether the models that are ready are asked for alone: {"ready": true}. A
// body may be left out. Throws Refusal(kBadRequest) for another.
bool parse_index_request(std::string_view body);

struct JsonAnswer {
  std::string body;
  std::optional<std::size_t> json_size = {};  // where bytes follow
};

// Numbers are written as short as they read back the same; NaN and infinity,
// which JSON has not, as null.
JsonAnswer write_infer_answer(const InferAnswer& answer,
                              const AnswerForm& form);

// The "timeout" parameter of a request, in microseconds. Throws
// Refusal(kBadRequest) outside of its range.
Duration checked_timeout(std::int64_t microseconds);

// {"error": "…"}
std::string error_json(std::string_view message);

}  // namespace weft::serve
