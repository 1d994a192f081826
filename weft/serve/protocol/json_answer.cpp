#include <fmt/format.h>

#include "weft/serve/protocol/datatype.h"
#include "weft/serve/protocol/json_data.h"
#include "weft/serve/protocol/json_request.h"

namespace weft::serve {
namespace {

void append_output(std::string& out, const NamedTensor& output,
                   bool is_binary) {
  out += R"({"name":)";
  append_json(out, output.name);
  out += fmt::format(R"(,"datatype":"{}","shape":[{}],)",
                     protocol_name(output.tensor.dtype()),
                     fmt::join(output.tensor.shape().dims(), ","));
  if (is_binary) {
    out += fmt::format(R"("parameters":{{"binary_data_size":{}}}}})",
                       output.tensor.bytes());
    return;
  }
  out += R"("data":)";
  append_json(out, output.tensor);
  out += '}';
}

}  // namespace

JsonAnswer write_infer_answer(const InferAnswer& answer,
                              const AnswerForm& form) {
  JsonAnswer written;
  std::string& out = written.body;
  out += R"({"model_name":)";
  append_json(out, answer.model);
  out += R"(,"model_version":)";
  append_json(out, answer.version);
  if (!answer.id.empty()) {
    out += R"(,"id":)";
    append_json(out, answer.id);
  }
  out += R"(,"outputs":[)";
  std::string binary;
  for (const NamedTensor& output : answer.outputs) {
    if (out.back() != '[') out += ',';
    const bool is_binary = form.is_binary_of(output.name);
    append_output(out, output, is_binary);
    if (!is_binary) continue;
    written.json_size = 0;
    binary += bytes_of(output.tensor);
  }
  out += "]}";
  if (written.json_size) written.json_size = out.size();
  out += binary;
  return written;
}

std::string error_json(std::string_view message) {
  std::string out = R"({"error":)";
  append_json(out, message);
  return out + '}';
}

}  // namespace weft::serve
