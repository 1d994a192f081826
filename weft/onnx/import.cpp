#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "weft/base/index.h"
#include "weft/compiler/dead_nodes.h"
#include "weft/graph/function_copy.h"
#include "weft/onnx/causal_mask.h"
#include "weft/onnx/importer.h"
#include "weft/onnx/onnx.h"
#include "weft/runtime/jit/trace.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

using namespace onnx;  // NOLINT: this file's own module

// Numbers that stand in the model are constants of the graph, where passes see
// them, and masks of a decoder are what they were computed by; what is larger
// is a tensor of the file.
class ImportTrace final : public Trace {
 public:
  using Trace::Trace;

 protected:
  ValueId adopt(const Value& value) override {
    constexpr std::int64_t kMostNumbers = 16;
    if (!value.is_staged() && value.tensor().size() <= kMostNumbers) {
      return static_cast<ValueId>(constant(value.tensor()).id());
    }
    if (!value.is_staged()) {
      if (const auto mask = CausalMask::found_in(value.tensor())) {
        const ContextScope scope(*this);
        return static_cast<ValueId>(mask->staged().id());
      }
    }
    return Trace::adopt(value);
  }
};

// A name as symbols have it: "batch size" is batch_size.
Dim symbol_of(std::string_view name, const std::string& fallback) {
  std::string plain;
  for (const char c : name.empty() ? std::string_view(fallback) : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    plain += fits ? c : '_';
  }
  if (plain.empty() || std::isdigit(static_cast<unsigned char>(plain[0]))) {
    plain = "d" + plain;
  }
  return symbol(plain);
}

// What exporters write of dims that depend on each other: "2*batch + 1".
Dim dim_of(const DimProto& dim, const std::string& fallback) {
  if (dim.size) return *dim.size;
  try {
    if (!dim.name.empty()) return parse_dim(dim.name);
  } catch (const Error&) {
    // It is no expression, but a name of any characters.
  }
  return symbol_of(dim.name, fallback);
}

TensorType type_of(const ValueProto& input, const OnnxImportOptions& options,
                   std::string_view where) {
  const auto refuse = [&](const std::string& reason) {
    return Error(ErrorCode::kUnsupported, where, "input '{}' {}", input.name,
                 reason);
  };
  if (!input.is_tensor) throw refuse("is no tensor");
  const std::optional<DType> dtype = dtype_of(input.type);
  if (!dtype) {
    throw refuse("is of " + name_of(input.type) + ", which Weft has not");
  }
  const auto given = options.shapes.find(input.name);
  if (given != options.shapes.end()) return {*dtype, given->second};
  if (!input.dims) {
    throw refuse("may have any number of axes").hint("give its shape");
  }
  Shape shape;
  for (const DimProto& dim : *input.dims) {
    shape.push_back(
        dim_of(dim, fmt::format("{}_{}", input.name, shape.rank())));
  }
  return {*dtype, shape};
}

// The inputs that callers give: none of the initializers, which old files list
// among them.
std::vector<const ValueProto*> inputs_of(const GraphProto& graph) {
  std::vector<const ValueProto*> inputs;
  for (const ValueProto& input : graph.inputs) {
    const bool has_value =
        std::ranges::find(graph.initializers, input.name, &TensorProto::name) !=
        graph.initializers.end();
    if (!has_value) inputs.push_back(&input);
  }
  return inputs;
}

template <class Named>
void check_names(const Named& named, const std::vector<const ValueProto*>& all,
                 std::string_view where) {
  std::vector<std::string> known;
  for (const ValueProto* input : all) known.emplace_back(input->name);
  for (const auto& [name, value] : named) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string near = nearest(name, known);
    throw Error(ErrorCode::kInvalidArgument, where, "has no input '{}'", name)
        .hint(near.empty()
                  ? "inputs: " + fmt::format("{}", fmt::join(known, ", "))
                  : "did you mean '" + near + "'?");
  }
}

// What is given in the place of an input must be what a caller could give.
void check_fixed(const ValueProto& input, const Tensor& value,
                 const OnnxImportOptions& options, std::string_view where) {
  OnnxImportOptions shapes = options;
  // An input of any number of axes has no shape to compare with.
  if (!input.dims) {
    shapes.shapes.emplace(std::string(input.name), value.shape());
  }
  const TensorType wanted = type_of(input, shapes, where);
  const TensorType& type = value.type();
  bool fits =
      type.dtype == wanted.dtype && type.shape.rank() == wanted.shape.rank();
  for (int i = 0; fits && i < type.shape.rank(); ++i) {
    fits = is_symbolic(wanted.shape[i]) || wanted.shape[i] == type.shape[i];
  }
  if (fits) return;
  throw Error(ErrorCode::kInvalidArgument, where,
              "input '{}' is {}, and is fixed to {}", input.name,
              to_string(wanted), to_string(type));
}

std::string word_of(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    word += fits ? c : '_';
  }
  return word.empty() ? "onnx" : word;
}

// A sequence becomes as many results as it has elements.
void append_tensors(const OnnxValue& value, std::vector<Value>& results) {
  if (value.elements() == nullptr) return results.push_back(value.plain());
  for (const OnnxValue& each : *value.elements()) append_tensors(each, results);
}

// A function without nodes that no result needs, as defaults of operands that
// were given after all, and without the weights that only they read.
struct Needed {
  Function function;
  std::vector<Hidden> hidden;
};

Needed only_needed(const Function& traced, const std::vector<Hidden>& hidden) {
  const Function live = eliminate_dead_nodes(traced);
  std::vector<bool> is_read(live.value_count());
  for (const Node& node : live.nodes()) {
    for (const ValueId id : node.inputs) is_read[at(id)] = true;
  }
  for (const ValueId id : live.results()) is_read[at(id)] = true;
  const std::size_t own = live.parameters().size() - hidden.size();
  FunctionCopy copy(live, live.name());
  std::vector<Hidden> read;
  for (std::size_t i = 0; i < live.parameters().size(); ++i) {
    const ValueId id = live.parameters()[i];
    if (i >= own && !is_read[at(id)]) continue;
    copy.add_parameter(id);
    if (i >= own) read.push_back(hidden[i - own]);
  }
  for (const Node& node : live.nodes()) copy.add_node(node);
  return {copy.finish(), std::move(read)};
}

}  // namespace

bool is_onnx_file(const std::filesystem::path& path) {
  return path.extension() == ".onnx";
}

DType onnx_input_dtype(const std::filesystem::path& path,
                       std::string_view input) {
  const std::string where = path.string();
  const MappedFile file(path);
  const ModelProto model = parse_model(file.bytes(), where);
  const auto inputs = inputs_of(model.graph);
  check_names(std::map<std::string, int>{{std::string(input), 0}}, inputs,
              where);
  const auto found = std::ranges::find(
      inputs, input, [](const ValueProto* each) { return each->name; });
  return type_of(**found, {.shapes = {{std::string(input), Shape()}}}, where)
      .dtype;
}

GraphFunctionRef import_onnx(const std::filesystem::path& path,
                             const OnnxImportOptions& options) {
  const std::string where = path.string();
  const MappedFile file(path);
  const ModelProto model = parse_model(file.bytes(), where);
  const auto inputs = inputs_of(model.graph);
  check_names(options.shapes, inputs, where);
  check_names(options.fixed, inputs, where);

  ExternalFiles files(path.parent_path());
  Importer importer(model, where, files);
  Program program;
  ImportTrace trace(program, program.unique_name(word_of(model.graph.name)),
                    /*may_create=*/false);
  std::vector<OnnxValue> arguments;
  for (const ValueProto* input : inputs) {
    const auto fixed = options.fixed.find(input->name);
    if (fixed != options.fixed.end()) {
      check_fixed(*input, fixed->second, options, where);
      arguments.push_back(Value(fixed->second));
    } else {
      arguments.push_back(trace.parameter(type_of(*input, options, where),
                                          std::string(input->name)));
    }
  }
  const Function traced = trace.build([&] {
    std::vector<Value> results;
    for (const OnnxValue& result : importer.run(arguments)) {
      append_tensors(result, results);
    }
    return results;
  });
  const Needed needed = only_needed(traced, trace.hidden());
  std::vector<Hidden> hidden = needed.hidden;
  ExecutableOptions frozen;
  std::size_t parameter = needed.function.parameters().size() - hidden.size();
  for (Hidden& each : hidden) {
    const Tensor& tensor = each.value.tensor();
    const auto name = importer.names_of_tensors().find(tensor.raw());
    if (name != importer.names_of_tensors().end()) each.name = name->second;
    frozen.frozen.emplace_back(parameter++, tensor);
  }
  program.add(needed.function);
  return std::make_shared<GraphFunction>(program.build(), traced.name(),
                                         std::move(hidden), std::move(frozen));
}

}  // namespace weft
