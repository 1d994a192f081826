#include "weft/onnx/exporter.h"

#include <algorithm>

#include "weft/base/index.h"
#include "weft/graph/builder.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/text.h"
#include "weft/onnx/node_context.h"
#include "weft/onnx/value.h"
#include "weft/ops/shape.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// Opset and file format that programs of today read.
constexpr std::int64_t kOpset = 23;
constexpr std::int64_t kIrVersion = 10;
// A function that calls itself has no end here.
constexpr int kMostCalls = 64;

Shape in_order(const Shape& shape, const Integers& order) {
  Shape result;
  for (const std::int64_t axis : order) {
    result.push_back(shape[static_cast<int>(axis)]);
  }
  return result;
}

// Axes of one element stand anywhere.
bool keeps_elements(const Shape& shape, const Integers& order) {
  Integers longer;
  for (const std::int64_t axis : order) {
    if (shape[static_cast<int>(axis)] != 1) longer.push_back(axis);
  }
  return std::ranges::is_sorted(longer);
}

// The nodes that a composite op stands for.
Function lowered(const OpDef& op, const Attributes& attributes,
                 std::span<const TensorType> types) {
  FunctionBuilder builder(op.name(), /*lower_composites=*/false);
  std::vector<Value> operands;
  for (const TensorType& type : types) {
    operands.push_back(builder.parameter(type));
  }
  return builder.build([&] { return op.lower()(attributes, operands); });
}

}  // namespace

void Exporter::open() { open_.push_back({{}, sources_.size()}); }

std::string Exporter::fresh(const std::string& op) {
  std::string name;
  do {
    name = fmt::format("{}_{}", op, ++counts_[op]);
  } while (!used_.insert(name).second);
  return name;
}

std::string Exporter::claimed(const std::string& name) {
  return used_.insert(name).second ? name : fresh(name);
}

ExportedValue Exporter::named(const TensorType& type, const std::string& name,
                              bool is_image) {
  const Shape shape =
      is_image ? in_order(type.shape, to_channels_first(type.shape.rank()))
               : type.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (is_symbolic(shape[axis])) sources_.push_back({shape[axis], name, axis});
  }
  ExportedValue value{.type = type, .depth = static_cast<int>(open_.size())};
  (is_image ? value.image : value.plain) = name;
  return value;
}

ExportedValue Exporter::add_input(const std::string& name,
                                  const TensorType& type) {
  const std::string own = claimed(name);
  open_.back().bytes.add_input({own, type});
  return named(type, own, false);
}

std::string Exporter::constant(const Tensor& tensor) {
  // Numbers and short lists come again and again.
  constexpr std::size_t kSmall = 64;
  std::string key;
  if (tensor.bytes() <= kSmall) {
    key = weft::to_string(tensor.type());
    key.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
    const auto found = small_.find(key);
    if (found != small_.end()) return found->second;
  }
  std::string own = fresh("constant");
  tensors_.push_back({own, tensor});
  if (!key.empty()) small_.emplace(key, own);
  return own;
}

std::string Exporter::reordered(ExportedValue& value, const std::string& from,
                                const Shape& shape, const Integers& order) {
  if (keeps_elements(shape, order)) {
    return emit("Reshape", {from, this->shape(in_order(shape, order), true)},
                {{"allowzero", std::int64_t{1}}}, {}, 1)[0];
  }
  WEFT_CHECK(value.type.shape.rank() == shape.rank());
  return emit("Transpose", {from}, {{"perm", order}}, {}, 1)[0];
}

// What is made in an inner graph is not there outside.
std::string Exporter::plain(ExportedValue& value) {
  if (!value.plain.empty()) return value.plain;
  if (value.known.is_defined()) {
    return value.plain = constant(value.known);
  }
  const int rank = value.type.shape.rank();
  std::string made = reordered(
      value, value.image, in_order(value.type.shape, to_channels_first(rank)),
      to_channels_last(rank));
  if (value.depth == static_cast<int>(open_.size())) value.plain = made;
  return made;
}

std::string Exporter::image(ExportedValue& value) {
  const int rank = value.type.shape.rank();
  if (rank < 3) return plain(value);
  if (!value.image.empty()) return value.image;
  if (value.known.is_defined()) {
    const ContextScope eager(eager_context());
    return value.image = constant(
               transpose(Value(value.known), to_channels_first(rank)).tensor());
  }
  std::string made =
      reordered(value, value.plain, value.type.shape, to_channels_first(rank));
  if (value.depth == static_cast<int>(open_.size())) value.image = made;
  return made;
}

std::string Exporter::image(ExportedValue& value, int rank) {
  const Shape& shape = value.type.shape;
  if (shape.rank() == rank) return image(value);
  if (shape.rank() == 0) return plain(value);
  Shape padded;
  padded.resize(rank - shape.rank(), 1);
  for (const Dim dim : shape) padded.push_back(dim);
  ExportedValue wide{.type = {value.type.dtype, padded}};
  if (value.known.is_defined()) {
    wide.known = value.known.reshape(padded);
  } else {
    wide.plain = emit("Reshape", {plain(value), this->shape(padded, true)},
                      {{"allowzero", std::int64_t{1}}}, {}, 1)[0];
  }
  return image(wide);
}

std::string Exporter::extent(Dim dim) {
  for (auto source = sources_.rbegin(); source != sources_.rend(); ++source) {
    if (source->dim != dim) continue;
    return emit("Shape", {source->name},
                {{"start", std::int64_t{source->axis}},
                 {"end", std::int64_t{source->axis + 1}}},
                {}, 1)[0];
  }
  throw Error(ErrorCode::kUnsupported, "onnx",
              "the size {} is none of a value that is there",
              weft::to_string(dim));
}

std::string Exporter::shape(const Shape& shape, bool one_may_follow) {
  Integers known;
  std::vector<std::string> parts;
  const auto flush = [&] {
    if (known.empty()) return;
    parts.push_back(constant(
        Tensor::of<std::int64_t>({static_cast<Dim>(known.size())},
                                 std::span<const std::int64_t>(known))));
    known.clear();
  };
  const bool has_zero = std::ranges::count(shape, 0) > 0;
  for (const Dim dim : shape) {
    if (!is_symbolic(dim)) {
      known.push_back(dim);
    } else if (one_may_follow && !has_zero) {
      // A reshape computes one dim by itself.
      known.push_back(-1);
      one_may_follow = false;
    } else {
      flush();
      parts.push_back(extent(dim));
    }
  }
  if (shape.rank() == 0) {
    return constant(Tensor::empty({DType::kI64, {0}}));
  }
  flush();
  return parts.size() == 1
             ? parts[0]
             : emit("Concat", parts, {{"axis", std::int64_t{0}}}, {}, 1)[0];
}

std::vector<std::string> Exporter::emit(
    const std::string& op, const std::vector<std::string>& inputs,
    const Attributes& attributes, const std::vector<OnnxContext::Body>& bodies,
    std::size_t outputs) {
  std::vector<std::pair<std::string, WireWriter>> graphs;
  for (const OnnxContext::Body& body : bodies) {
    open();
    std::vector<std::string> names;
    for (const TensorType& type : body.inputs) {
      names.push_back(add_input("input", type).plain);
    }
    for (const std::string& result : body.build(names)) {
      // A graph's results are made in it, and not around it.
      open_.back().bytes.add_output(emit("Identity", {result}, {}, {}, 1)[0]);
    }
    graphs.emplace_back(body.attribute,
                        open_.back().bytes.finish(body.attribute));
    sources_.resize(open_.back().sources);
    open_.pop_back();
  }
  const std::string name = fresh(op);
  std::vector<std::string> results;
  for (std::size_t i = 0; i < outputs; ++i) {
    results.push_back(i == 0 ? name : fmt::format("{}_{}", name, i));
  }
  open_.back().bytes.add_node(name, op, inputs, results, attributes, graphs);
  return results;
}

const Function& Exporter::function(const FunctionRef& reference) const {
  const Function* found = graph_.find(reference.name);
  WEFT_CHECK(found != nullptr, "no function '{}'", reference.name);
  return *found;
}

std::vector<ExportedValue> Exporter::run(const Function& function,
                                         std::vector<ExportedValue> arguments) {
  if (depth_ == kMostCalls) {
    throw Error(ErrorCode::kUnsupported, "@" + function.name(),
                "calls itself, which ONNX's functions may not");
  }
  ++depth_;
  std::vector<ExportedValue> values(function.value_count());
  std::vector<bool> is_read(function.value_count());
  for (const Node& node : function.nodes()) {
    for (const ValueId id : node.inputs) is_read[at(id)] = true;
  }
  for (const ValueId id : function.results()) is_read[at(id)] = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values[at(function.parameters()[i])] = std::move(arguments[i]);
  }
  for (const Node& node : function.nodes()) {
    run_node(function, node, values, is_read);
  }
  std::vector<ExportedValue> results;
  for (const ValueId id : function.results()) {
    results.push_back(values[at(id)]);
  }
  --depth_;
  return results;
}

void Exporter::run_node(const Function& function, const Node& node,
                        std::vector<ExportedValue>& values,
                        const std::vector<bool>& is_read) {
  const OpDef& op = *node.op;
  std::vector<ExportedValue*> operands;
  std::vector<ExportedValue*> results;
  std::vector<const Tensor*> known;
  std::vector<bool> read;
  for (const ValueId id : node.inputs) {
    ExportedValue& value = values[at(id)];
    // What it needs is named already.
    if (value.has_failed) return fail(function, node, values, "");
    operands.push_back(&value);
    known.push_back(value.known.is_defined() ? &value.known : nullptr);
  }
  for (const ValueId id : node.outputs) {
    results.push_back(&values[at(id)]);
    results.back()->type = function.type(id);
    read.push_back(is_read[at(id)]);
  }
  if (op == known::constant) {
    results[0]->known = node.attributes.get<Tensor>("value");
    return;
  }
  const auto inputs = function.input_types(node);
  const auto outputs = function.output_types(node);
  try {
    if (op.onnx() != nullptr) {
      NodeContext context({op, inputs, node.attributes, outputs, known}, *this,
                          operands, results, read);
      op.onnx()(context);
    } else if (op.lower() != nullptr) {
      std::vector<ExportedValue> arguments;
      for (const ExportedValue* operand : operands) {
        arguments.push_back(*operand);
      }
      auto made =
          run(lowered(op, node.attributes, inputs), std::move(arguments));
      for (std::size_t i = 0; i < made.size(); ++i) *results[i] = made[i];
    } else {
      fail(function, node, values, "ONNX has no such op");
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    fail(function, node, values, error.message());
  }
}

void Exporter::fail(const Function& function, const Node& node,
                    std::vector<ExportedValue>& values, std::string reason) {
  for (const ValueId id : node.outputs) values[at(id)].has_failed = true;
  if (reason.empty()) return;
  failures_.push_back(
      fmt::format("{}: {}", weft::to_string(function, node), reason));
}

void Exporter::add_output(const std::string& name, ExportedValue& value) {
  if (value.has_failed) return;
  const std::string own = claimed(name);
  open_.back().bytes.add_node(own, "Identity", {plain(value)}, {own}, {}, {});
  open_.back().bytes.add_output({own, value.type});
}

WrittenModel Exporter::finish(const std::string& name, std::string_view where) {
  if (!failures_.empty()) {
    Error error(ErrorCode::kUnsupported, where,
                "{} of the function's nodes cannot be exported",
                failures_.size());
    for (const std::string& failure : failures_) error.detail(failure);
    throw std::move(error).hint("docs/onnx.md lists what is supported");
  }
  return {open_.back().bytes.finish(name), std::move(tensors_), kOpset,
          kIrVersion};
}

}  // namespace weft::onnx
