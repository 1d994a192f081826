#include "weft/onnx/model.h"

#include <algorithm>
#include <array>

#include "weft/onnx/wire.h"

namespace weft::onnx {
namespace {

// The element types of the format, by their numbers.
constexpr std::array kTypeNames = {
    "undefined",      "float",    "uint8",      "int8",           "uint16",
    "int16",          "int32",    "int64",      "string",         "bool",
    "float16",        "double",   "uint32",     "uint64",         "complex64",
    "complex128",     "bfloat16", "float8e4m3", "float8e4m3fnuz", "float8e5m2",
    "float8e5m2fnuz", "uint4",    "int4",       "float4e2m1",     "float8e8m0",
    "uint2",          "int2"};

// Those that tensors here can hold; others are refused where they are met.
struct Pair {
  int number;
  DType dtype;
};
constexpr Pair kTypes[] = {
    {1, DType::kF32},  {2, DType::kU8},   {3, DType::kI8},   {5, DType::kI16},
    {6, DType::kI32},  {7, DType::kI64},  {9, DType::kBool}, {10, DType::kF16},
    {11, DType::kF64}, {16, DType::kBF16}};

GraphProto read_graph(WireReader reader);

// Cases are the fields' numbers in onnx.proto. Fields that change no result, as
// producers and documentation, are passed over.
std::pair<std::string_view, std::string_view> read_pair(WireReader reader) {
  std::pair<std::string_view, std::string_view> pair;
  while (reader.next()) {
    if (reader.number() == 1) pair.first = reader.text();
    if (reader.number() == 2) pair.second = reader.text();
  }
  return pair;
}

TensorProto read_tensor(WireReader reader) {
  TensorProto tensor;
  while (reader.next()) {
    switch (reader.number()) {
      case 1:
        reader.append_to(tensor.dims);
        break;
      case 2:
        tensor.type = ElementType{reader.integer()};
        break;
      case 3:
        throw reader.damaged("tensors in segments were never in use");
      case 4:
        reader.append_to(tensor.floats);
        break;
      case 5:
        reader.append_to(tensor.int32s);
        break;
      case 7:
        reader.append_to(tensor.int64s);
        break;
      case 8:
        tensor.name = reader.text();
        break;
      case 9:
        tensor.raw = reader.bytes();
        break;
      case 10:
        reader.append_to(tensor.doubles);
        break;
      case 13:
        tensor.external.push_back(read_pair(reader.message()));
        break;
      case 14:
        tensor.is_external = reader.integer() == 1;
        break;
      default:
        break;
    }
  }
  return tensor;
}

// The values of attributes are bytes, and texts only where an op says so.
std::string_view raw_text(const WireReader& reader) {
  const ByteSpan bytes = reader.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Files of the first releases leave the kind out; then the one field that is
// there tells it.
AttributeProto read_attribute(WireReader reader) {
  using Kind = AttributeProto::Kind;
  AttributeProto attribute;
  Kind seen = Kind::kNone;
  std::int64_t said = 0;
  while (reader.next()) {
    switch (reader.number()) {
      case 1:
        attribute.name = reader.text();
        break;
      case 2:
        attribute.real = reader.real();
        seen = Kind::kReal;
        break;
      case 3:
        attribute.integer = reader.integer();
        seen = Kind::kInteger;
        break;
      case 4:
        attribute.text = raw_text(reader);
        seen = Kind::kText;
        break;
      case 5:
        attribute.tensor =
            std::make_shared<TensorProto>(read_tensor(reader.message()));
        seen = Kind::kTensor;
        break;
      case 6:
        attribute.graph =
            std::make_shared<GraphProto>(read_graph(reader.message()));
        seen = Kind::kGraph;
        break;
      case 7:
        reader.append_to(attribute.reals);
        seen = Kind::kReals;
        break;
      case 8:
        reader.append_to(attribute.integers);
        seen = Kind::kIntegers;
        break;
      case 9:
        attribute.texts.push_back(raw_text(reader));
        seen = Kind::kTexts;
        break;
      case 20:
        said = reader.integer();
        break;
      case 21:
        attribute.reference = reader.text();
        break;
      default:
        break;
    }
  }
  attribute.kind = said == 0 ? seen : static_cast<Kind>(said);
  const bool has_none =
      (attribute.kind == Kind::kTensor && !attribute.tensor) ||
      (attribute.kind == Kind::kGraph && !attribute.graph);
  if (has_none && attribute.reference.empty()) {
    throw reader.damaged("an attribute has no value");
  }
  return attribute;
}

NodeProto read_node(WireReader reader) {
  NodeProto node;
  while (reader.next()) {
    switch (reader.number()) {
      case 1:
        node.inputs.push_back(reader.text());
        break;
      case 2:
        node.outputs.push_back(reader.text());
        break;
      case 3:
        node.name = reader.text();
        break;
      case 4:
        node.op = reader.text();
        break;
      case 5:
        node.attributes.push_back(read_attribute(reader.message()));
        break;
      case 7:
        node.domain = reader.text();
        break;
      default:
        break;
    }
  }
  if (node.domain == "ai.onnx") node.domain = {};
  return node;
}

DimProto read_dim(WireReader reader) {
  DimProto dim;
  while (reader.next()) {
    if (reader.number() == 1) dim.size = reader.integer();
    if (reader.number() == 2) dim.name = reader.text();
  }
  // Some exporters write sizes that are not known as 0 or -1.
  if (dim.size && *dim.size < 0) dim.size.reset();
  return dim;
}

void read_tensor_type(WireReader reader, ValueProto& value) {
  value.is_tensor = true;
  while (reader.next()) {
    if (reader.number() == 1) value.type = ElementType{reader.integer()};
    if (reader.number() != 2) continue;
    value.dims.emplace();
    WireReader shape = reader.message();
    while (shape.next()) {
      if (shape.number() == 1) value.dims->push_back(read_dim(shape.message()));
    }
  }
}

ValueProto read_value(WireReader reader) {
  ValueProto value;
  while (reader.next()) {
    if (reader.number() == 1) value.name = reader.text();
    if (reader.number() != 2) continue;
    WireReader type = reader.message();
    while (type.next()) {
      if (type.number() == 1) read_tensor_type(type.message(), value);
    }
  }
  return value;
}

std::string_view read_sparse_name(WireReader reader) {
  std::string_view name;
  while (reader.next()) {
    if (reader.number() == 1) name = read_tensor(reader.message()).name;
  }
  return name;
}

GraphProto read_graph(WireReader reader) {
  GraphProto graph;
  while (reader.next()) {
    switch (reader.number()) {
      case 1:
        graph.nodes.push_back(read_node(reader.message()));
        break;
      case 2:
        graph.name = reader.text();
        break;
      case 5:
        graph.initializers.push_back(read_tensor(reader.message()));
        break;
      case 11:
        graph.inputs.push_back(read_value(reader.message()));
        break;
      case 12:
        graph.outputs.push_back(read_value(reader.message()));
        break;
      case 15:
        graph.sparse_initializers.push_back(read_sparse_name(reader.message()));
        break;
      default:
        break;
    }
  }
  return graph;
}

OpsetProto read_opset(WireReader reader) {
  OpsetProto opset;
  while (reader.next()) {
    if (reader.number() == 1) opset.domain = reader.text();
    if (reader.number() == 2) opset.version = reader.integer();
  }
  if (opset.domain == "ai.onnx") opset.domain = {};
  return opset;
}

FunctionProto read_function(WireReader reader) {
  FunctionProto function;
  while (reader.next()) {
    switch (reader.number()) {
      case 1:
        function.name = reader.text();
        break;
      case 4:
        function.inputs.push_back(reader.text());
        break;
      case 5:
        function.outputs.push_back(reader.text());
        break;
      case 7:
        function.nodes.push_back(read_node(reader.message()));
        break;
      case 9:
        function.opsets.push_back(read_opset(reader.message()));
        break;
      case 10:
        function.domain = reader.text();
        break;
      case 11:
        function.defaults.push_back(read_attribute(reader.message()));
        break;
      default:
        break;
    }
  }
  return function;
}

}  // namespace

std::optional<DType> dtype_of(ElementType type) {
  for (const auto& [number, dtype] : kTypes) {
    if (static_cast<std::int64_t>(type) == number) return dtype;
  }
  return std::nullopt;
}

ElementType element_type_of(DType dtype) {
  const auto found = std::ranges::find(kTypes, dtype, &Pair::dtype);
  WEFT_CHECK(found != std::end(kTypes));
  return ElementType{found->number};
}

std::string name_of(ElementType type) {
  const auto number = static_cast<std::int64_t>(type);
  if (number >= 0 && number < std::ssize(kTypeNames)) {
    return kTypeNames[static_cast<std::size_t>(number)];
  }
  return fmt::format("type {}", number);
}

const AttributeProto* NodeProto::find(std::string_view attribute) const {
  const auto found =
      std::ranges::find(attributes, attribute, &AttributeProto::name);
  return found == attributes.end() ? nullptr : &*found;
}

ModelProto parse_model(ByteSpan file, std::string_view where) {
  ModelProto model;
  WireReader reader(file, where);
  bool has_graph = false;
  while (reader.next()) {
    switch (reader.number()) {
      case 7:
        model.graph = read_graph(reader.message());
        has_graph = true;
        break;
      case 8:
        model.opsets.push_back(read_opset(reader.message()));
        break;
      case 25:
        model.functions.push_back(read_function(reader.message()));
        break;
      default:
        break;
    }
  }
  if (!has_graph) throw reader.damaged("there is no graph in it");
  return model;
}

}  // namespace weft::onnx
