// What an ONNX file says, as far as Weft reads it: structures with the names of
// the format. Texts and bytes of tensors are not copied; they lie in the file.
//
// Threads: value types and pure functions.
// Source:  the ONNX specification, onnx.ai/onnx/repo-docs/IR.html, IR versions
//          3 to 13.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/base/file.h"
#include "weft/tensor/tensor.h"

namespace weft::onnx {

// The element types of the format by their numbers there.
enum class ElementType : std::int64_t {};

// Weft's dtype; nothing for texts, unsigned numbers of more than 8 bits,
// complex ones and those of less than 8 bits.
std::optional<DType> dtype_of(ElementType type);
ElementType element_type_of(DType dtype);
// "uint16", or "type 99" for a number that none has.
std::string name_of(ElementType type);

// A tensor in a file; `raw` are its bytes, or the lists have its numbers.
struct TensorProto {
  std::string_view name;
  ElementType type{};
  std::vector<std::int64_t> dims;
  std::optional<ByteSpan> raw;
  std::vector<float> floats;
  std::vector<std::int32_t> int32s;
  std::vector<std::int64_t> int64s;
  std::vector<double> doubles;
  bool is_external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external;
};

struct GraphProto;

struct AttributeProto {
  enum class Kind {
    kNone = 0,
    kReal = 1,
    kInteger = 2,
    kText = 3,
    kTensor = 4,
    kGraph = 5,
    kReals = 6,
    kIntegers = 7,
    kTexts = 8,
  };

  std::string_view name;
  Kind kind = Kind::kNone;
  std::string_view reference;  // the attribute of a function that it stands for
  float real = 0;
  std::int64_t integer = 0;
  std::string_view text;
  std::vector<float> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string_view> texts;
  std::shared_ptr<TensorProto> tensor;
  std::shared_ptr<GraphProto> graph;
};

struct NodeProto {
  std::string_view name;
  std::string_view op;
  std::string_view domain;  // empty: ONNX's own
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeProto> attributes;

  const AttributeProto* find(std::string_view attribute) const;
};

// A size, or the name of one, or neither.
struct DimProto {
  std::optional<std::int64_t> size;
  std::string_view name;
};

struct ValueProto {
  std::string_view name;
  bool is_tensor = false;
  ElementType type{};
  std::optional<std::vector<DimProto>> dims;  // none: of any rank
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<std::string_view> sparse_initializers;
  std::vector<ValueProto> inputs;
  std::vector<ValueProto> outputs;
};

struct OpsetProto {
  std::string_view domain;
  std::int64_t version = 0;
};

// A function that the model brings along: an op made of nodes.
struct FunctionProto {
  std::string_view name;
  std::string_view domain;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeProto> defaults;
  std::vector<NodeProto> nodes;
  std::vector<OpsetProto> opsets;
};

struct ModelProto {
  std::vector<OpsetProto> opsets;
  GraphProto graph;
  std::vector<FunctionProto> functions;
};

// Reads a whole model; what it returns refers to `file`. Takes memory in
// proportion to the number of nodes, not to that of weights. Throws
// Error(kDataLoss) naming `where` and the byte.
ModelProto parse_model(ByteSpan file, std::string_view where);

}  // namespace weft::onnx
