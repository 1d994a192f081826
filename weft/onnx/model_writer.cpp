#include "weft/onnx/model_writer.h"

#include <fmt/format.h>

#include "weft/base/checksum.h"
#include "weft/base/version.h"
#include "weft/onnx/model.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// A message may have 2 GB; what is not tensors is far below the difference.
constexpr std::size_t kMostInFile = std::size_t{1} << 30;
constexpr std::size_t kAlignment = 64;

// A tensor without its bytes.
WireWriter tensor_head(const std::string& name, const TensorType& type) {
  WireWriter head;
  head.packed(1, {type.shape.begin(), type.shape.end()});
  head.integer(2, static_cast<std::int64_t>(element_type_of(type.dtype)));
  if (!name.empty()) head.bytes(8, name);
  return head;
}

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), tensor.bytes()};
}

// The attribute's value under its field, and its kind.
WireWriter attribute_message(const std::string& name, const Attribute& value) {
  WireWriter message;
  message.bytes(1, name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    message.integer(3, *integer);
    message.integer(20, 2);
  } else if (const auto* real = std::get_if<double>(&value)) {
    message.real(2, static_cast<float>(*real));
    message.integer(20, 1);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    message.bytes(4, *text);
    message.integer(20, 3);
  } else if (const auto* integers = std::get_if<Integers>(&value)) {
    message.packed(8, *integers);
    message.integer(20, 7);
  } else if (const auto* dtype = std::get_if<DType>(&value)) {
    message.integer(3, static_cast<std::int64_t>(element_type_of(*dtype)));
    message.integer(20, 2);
  } else {
    const auto* tensor = std::get_if<Tensor>(&value);
    WEFT_CHECK(tensor != nullptr, "attribute '{}' is a {}", name,
               kind_of(value));
    WireWriter inner = tensor_head("", tensor->type());
    inner.bytes(9, bytes_of(*tensor));
    message.message(5, inner);
    message.integer(20, 4);
  }
  return message;
}

WireWriter value_message(const WrittenValue& value) {
  WireWriter shape;
  for (const Dim dim : value.type.shape) {
    WireWriter each;
    if (is_symbolic(dim)) {
      each.bytes(2, to_string(dim));
    } else {
      each.integer(1, dim);
    }
    shape.message(1, each);
  }
  WireWriter tensor;
  tensor.integer(1,
                 static_cast<std::int64_t>(element_type_of(value.type.dtype)));
  tensor.message(2, shape);
  WireWriter type;
  type.message(1, tensor);
  WireWriter message;
  message.bytes(1, value.name);
  message.message(2, type);
  return message;
}

// Where a tensor begins that lies outside.
WireWriter external_entry(const char* key, const std::string& value) {
  WireWriter entry;
  entry.bytes(1, key);
  entry.bytes(2, value);
  return entry;
}

// How many bytes a field takes whose value has `size` bytes.
std::size_t field_size(int field, std::size_t size) {
  WireWriter head;
  head.integer(field, static_cast<std::int64_t>(size));
  // The kind is another one, and takes as much.
  return head.written().size() + size;
}

// The beginning of a field of bytes that follow by themselves.
std::string field_head(int field, std::size_t size) {
  WireWriter head;
  head.integer(field, static_cast<std::int64_t>(size));
  std::string text = head.written();
  text[0] = static_cast<char>(text[0] | 2);  // varint becomes bytes
  return text;
}

WireWriter model_head(const WrittenModel& model) {
  WireWriter opset;
  opset.bytes(1, "");
  opset.integer(2, model.opset);
  WireWriter head;
  head.integer(1, model.ir_version);
  head.bytes(2, "weft");
  head.bytes(3, kVersion);
  head.message(8, opset);
  return head;
}

void write_with_tensors(AtomicFile& file, const WrittenModel& model) {
  std::vector<WireWriter> heads;
  std::size_t size = model.graph.written().size();
  for (const auto& [name, tensor] : model.tensors) {
    heads.push_back(tensor_head(name, tensor.type()));
    const std::size_t inner =
        heads.back().written().size() + field_size(9, tensor.bytes());
    size += field_size(5, inner);
  }
  file.write(model_head(model).written());
  file.write(field_head(7, size));
  file.write(model.graph.written());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const Tensor& tensor = model.tensors[i].tensor;
    const std::string& head = heads[i].written();
    file.write(field_head(5, head.size() + field_size(9, tensor.bytes())));
    file.write(head);
    file.write(field_head(9, tensor.bytes()));
    file.write(bytes_of(tensor));
  }
}

// The data of another content has another name, so that a model finds its own
// for as long as it stands there.
std::string data_name(const std::filesystem::path& path,
                      const WrittenModel& model) {
  std::vector<std::uint64_t> sums;
  for (const auto& [name, tensor] : model.tensors) {
    sums.push_back(checksum(
        {static_cast<const std::uint8_t*>(tensor.raw()), tensor.bytes()}));
    sums.push_back(tensor.bytes());
  }
  const std::uint64_t all =
      checksum({reinterpret_cast<const std::uint8_t*>(sums.data()),
                sums.size() * sizeof(std::uint64_t)});
  return fmt::format("{}.{:016x}.data", path.filename().string(), all);
}

// Data that models wrote which stood at `path` before; the one there now reads
// `data`, or none where that is empty.
void remove_old_data(const std::filesystem::path& path,
                     const std::string& data) {
  const std::string start = path.filename().string() + ".";
  std::error_code ignored;
  std::filesystem::directory_iterator files(
      path.has_parent_path() ? path.parent_path() : ".", ignored);
  for (; files != std::filesystem::directory_iterator();
       files.increment(ignored)) {
    const std::string name = files->path().filename().string();
    const bool is_data =
        name.size() == start.size() + 16 + 5 && name.starts_with(start) &&
        name.ends_with(".data") &&
        name.find_first_not_of("0123456789abcdef", start.size()) ==
            start.size() + 16;
    // What cannot be removed harms nobody.
    if (is_data && name != data)
      std::filesystem::remove(files->path(), ignored);
  }
}

void write_beside(const std::filesystem::path& path, AtomicFile& file,
                  const WrittenModel& model, const std::string& data) {
  AtomicFile tensors(path.parent_path() / data);
  WireWriter graph = model.graph;
  std::size_t at = 0;
  for (const auto& [name, tensor] : model.tensors) {
    const std::size_t gap = (kAlignment - at % kAlignment) % kAlignment;
    tensors.write(std::string(gap, '\0'));
    at += gap;
    WireWriter message = tensor_head(name, tensor.type());
    message.message(13, external_entry("location", data));
    message.message(13, external_entry("offset", std::to_string(at)));
    message.message(13,
                    external_entry("length", std::to_string(tensor.bytes())));
    message.integer(14, 1);
    graph.message(5, message);
    tensors.write(bytes_of(tensor));
    at += tensor.bytes();
  }
  tensors.commit();
  WireWriter head = model_head(model);
  head.message(7, graph);
  file.write(head.written());
}

}  // namespace

void GraphBytes::add_node(
    const std::string& name, const std::string& op,
    const std::vector<std::string>& inputs,
    const std::vector<std::string>& outputs, const Attributes& attributes,
    const std::vector<std::pair<std::string, WireWriter>>& graphs) {
  WireWriter node;
  for (const std::string& input : inputs) node.bytes(1, input);
  for (const std::string& output : outputs) node.bytes(2, output);
  node.bytes(3, name);
  node.bytes(4, op);
  for (const auto& [key, value] : attributes) {
    node.message(5, attribute_message(key, value));
  }
  for (const auto& [key, graph] : graphs) {
    WireWriter attribute;
    attribute.bytes(1, key);
    attribute.message(6, graph);
    attribute.integer(20, 5);
    node.message(5, attribute);
  }
  nodes_.message(1, node);
}

void GraphBytes::add_input(const WrittenValue& value) {
  inputs_.message(11, value_message(value));
}

void GraphBytes::add_output(const WrittenValue& value) {
  outputs_.message(12, value_message(value));
}

void GraphBytes::add_output(const std::string& name) {
  WireWriter message;
  message.bytes(1, name);
  outputs_.message(12, message);
}

WireWriter GraphBytes::finish(const std::string& name) const {
  WireWriter graph = nodes_;
  graph.bytes(2, name);
  graph.append(inputs_);
  graph.append(outputs_);
  return graph;
}

void write_model(const std::filesystem::path& path, const WrittenModel& model,
                 bool beside) {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : model.tensors) bytes += tensor.bytes();
  AtomicFile file(path);
  std::string data;
  if (beside || bytes > kMostInFile) {
    data = data_name(path, model);
    write_beside(path, file, model, data);
  } else {
    write_with_tensors(file, model);
  }
  file.commit();
  remove_old_data(path, data);
}

}  // namespace weft::onnx
