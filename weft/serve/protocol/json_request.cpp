#include "weft/serve/protocol/json_request.h"

#include <algorithm>
#include <vector>

#include "weft/serve/protocol/datatype.h"
#include "weft/serve/protocol/json_data.h"
#include "weft/serve/protocol/json_reader.h"

namespace weft::serve {
namespace {

constexpr std::int64_t kMostTimeoutUs = std::int64_t{24} * 3600 * 1'000'000;

// A place of the text becomes much more memory: there is a limit, which no
// model comes near.
constexpr std::size_t kMostEntries = 1024;

// An input as it stands in the text: its parts come in any order.
struct RawInput {
  std::string name;
  std::string datatype;
  std::vector<std::int64_t> dims;
  bool has_shape = false;
  std::optional<std::string_view> data;
  std::size_t data_position = 0;
  std::optional<std::int64_t> binary_size;
};

struct Parsed {
  JsonRequest request;
  std::vector<RawInput> inputs;
};

void check_count(JsonReader& reader, std::string_view list, std::size_t index) {
  if (index < kMostEntries) return;
  reader.fail("{}: there are more than {}", list, kMostEntries);
}

[[noreturn]] void unknown_field(const std::string& where,
                                const std::string& field,
                                const std::vector<std::string>& known) {
  const std::string near = nearest(field, known);
  throw Refusal(Status::kBadRequest, where, "there is no field '{}'{}", field,
                near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

// Parameters that mean something here; those of other servers are let pass.
template <class Body>
void read_parameters(JsonReader& reader, Body&& body) {
  reader.object([&](const std::string& key) {
    if (!body(key)) reader.skip();
  });
}

RawInput read_input(JsonReader& reader, std::size_t index) {
  RawInput input;
  reader.object([&](const std::string& key) {
    if (key == "name") {
      input.name = reader.string();
    } else if (key == "datatype") {
      input.datatype = reader.string();
    } else if (key == "shape") {
      input.has_shape = true;
      reader.list([&](std::size_t) { input.dims.push_back(reader.integer()); });
    } else if (key == "data") {
      reader.peek();
      input.data_position = reader.position();
      input.data = reader.skip();
    } else if (key == "parameters") {
      read_parameters(reader, [&](const std::string& name) {
        if (name != "binary_data_size") return false;
        input.binary_size = reader.integer();
        return true;
      });
    } else {
      unknown_field(fmt::format("inputs[{}]", index), key,
                    {"name", "datatype", "shape", "data", "parameters"});
    }
  });
  return input;
}

void read_output(JsonReader& reader, std::size_t index, JsonRequest& request) {
  std::string name;
  std::optional<bool> is_binary;
  reader.object([&](const std::string& key) {
    if (key == "name") {
      name = reader.string();
    } else if (key == "parameters") {
      read_parameters(reader, [&](const std::string& parameter) {
        if (parameter == "classification") {
          reader.fail("outputs[{}]: this server has no classification", index);
        }
        if (parameter != "binary_data") return false;
        is_binary = reader.boolean();
        return true;
      });
    } else {
      unknown_field(fmt::format("outputs[{}]", index), key,
                    {"name", "parameters"});
    }
  });
  if (is_binary) request.form.listed[name] = *is_binary;
  request.call.outputs.push_back(std::move(name));
}

void read_request_parameters(JsonReader& reader, JsonRequest& request) {
  read_parameters(reader, [&](const std::string& name) {
    if (name == "binary_data_output") {
      request.form.is_binary = reader.boolean();
      return true;
    }
    if (name == "timeout") {
      request.call.timeout = checked_timeout(reader.integer());
      return true;
    }
    return false;
  });
}

Parsed read_request(JsonReader& reader) {
  Parsed parsed;
  JsonRequest& request = parsed.request;
  reader.object([&](const std::string& key) {
    if (key == "id") {
      request.call.id = reader.string();
    } else if (key == "inputs") {
      reader.list([&](std::size_t i) {
        check_count(reader, "inputs", i);
        parsed.inputs.push_back(read_input(reader, i));
      });
    } else if (key == "outputs") {
      reader.list([&](std::size_t i) {
        check_count(reader, "outputs", i);
        read_output(reader, i, request);
      });
    } else if (key == "parameters") {
      read_request_parameters(reader, request);
    } else {
      unknown_field("request", key, {"id", "inputs", "outputs", "parameters"});
    }
  });
  reader.end();
  return parsed;
}

// Takes the input's bytes off the front of `binary`.
Tensor tensor_of(const RawInput& input, std::size_t index,
                 std::string_view& binary, std::size_t body_size) {
  const std::string where = fmt::format("inputs[{}]", index);
  const auto bad = [&](std::string_view what) {
    return Refusal(Status::kBadRequest, where, "{}", what);
  };
  if (input.datatype.empty()) throw bad("it has no datatype");
  if (!input.has_shape) throw bad("it has no shape");
  const DType dtype = protocol_dtype(input.datatype, where + ".datatype");
  // Each element takes a byte of the body at least, and eight in memory at
  // most.
  const TensorType type =
      checked_type(dtype, input.dims, 8 * body_size, where + ".shape");
  if (input.binary_size) {
    if (input.data) throw bad("it has data both as JSON and as bytes");
    const auto size = static_cast<std::uint64_t>(*input.binary_size);
    if (*input.binary_size < 0 || size > binary.size()) {
      throw Refusal(Status::kBadRequest, where,
                    "binary_data_size is {}, and {} bytes are left",
                    *input.binary_size, binary.size());
    }
    Tensor tensor = tensor_of_bytes(type, binary.substr(0, size), where);
    binary.remove_prefix(size);
    return tensor;
  }
  if (!input.data) throw bad("it has no data");
  return tensor_of_json(type, *input.data, input.data_position,
                        where + ".data");
}

}  // namespace

bool parse_index_request(std::string_view body) {
  bool is_ready_alone = false;
  if (body.empty()) return is_ready_alone;
  JsonReader reader(body);
  reader.object([&](const std::string& key) {
    if (key != "ready") unknown_field("request", key, {"ready"});
    is_ready_alone = reader.boolean();
  });
  reader.end();
  return is_ready_alone;
}

Duration checked_timeout(std::int64_t microseconds) {
  if (microseconds < 1 || microseconds > kMostTimeoutUs) {
    throw Refusal(Status::kBadRequest, "parameters.timeout",
                  "{} is not between 1 and {} microseconds", microseconds,
                  kMostTimeoutUs);
  }
  return std::chrono::microseconds(microseconds);
}

bool AnswerForm::is_binary_of(const std::string& output) const {
  const auto found = listed.find(output);
  return found == listed.end() ? is_binary : found->second;
}

JsonRequest parse_infer_request(std::string_view body,
                                std::optional<std::size_t> json_size) {
  if (json_size && *json_size > body.size()) {
    throw Refusal(Status::kBadRequest, "Inference-Header-Content-Length",
                  "it is {}, and the body has {} bytes", *json_size,
                  body.size());
  }
  const std::size_t split = json_size.value_or(body.size());
  JsonReader reader(body.substr(0, split));
  Parsed parsed = read_request(reader);
  std::string_view binary = body.substr(split);
  if (parsed.inputs.empty()) {
    throw Refusal(Status::kBadRequest, "inputs", "there are none");
  }
  for (std::size_t i = 0; i < parsed.inputs.size(); ++i) {
    parsed.request.call.inputs.push_back(
        {parsed.inputs[i].name,
         tensor_of(parsed.inputs[i], i, binary, body.size())});
  }
  if (!binary.empty()) {
    throw Refusal(Status::kBadRequest, "body",
                  "{} bytes behind those of the inputs belong to nothing",
                  binary.size());
  }
  return std::move(parsed.request);
}

}  // namespace weft::serve
