#include "weft/nn/layer_def.h"

#include <fmt/ranges.h>
#include <map>

#include "weft/base/call_reader.h"
#include "weft/graph/program.h"
#include "weft/nn/staging.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

bool takes(const LayerDef& def, const TensorType& example) {
  const int rank = example.shape.rank();
  return (def.rank == 0 ? rank > 0 : rank == def.rank) &&
         def.takes_indices == is_integer(example.dtype);
}

// `arriving` is of one example.
void require_taken(const LayerDef& def, const TensorType& arriving,
                   const LayerRegistry& layers) {
  if (takes(def, arriving)) return;
  std::vector<std::string> others;
  // The hint names what would fit, since messages are read by people who look
  // for just that.
  for (const LayerDef& other : layers.all()) {
    if (takes(other, arriving)) others.push_back(other.name);
  }
  throw Error(ErrorCode::kInvalidArgument, def.name,
              "takes {} for an example, but {} arrives", def.takes,
              to_string(arriving))
      .hint(fmt::format("what takes it: {}", fmt::join(others, ", ")));
}

// What `layer` makes of such an example, by the rules of its ops.
TensorType type_behind(nn::Layer& layer, const TensorType& example, Dim batch) {
  TensorType type{example.dtype, {batch}};
  for (const Dim dim : example.shape.dims()) type.shape.push_back(dim);
  // In training, layers draw numbers and take moments, which make no other
  // shape.
  layer.train(false);
  // The layer is traced, and nothing computed: shapes follow from inference
  // alone, and it needs no parameters yet.
  Program program;  // layers may loop, and a loop's body is a function too
  FunctionBuilder& builder = program.builder("layer");
  const nn::Staging staged(layer, builder);
  const Value x = builder.parameter(type, "x");
  const Function function =
      builder.build([&] { return std::vector{layer(x)}; });
  layer.train(true);
  const TensorType made = function.type(function.results()[0]);
  if (made.shape.rank() == 0 || made.shape[0] != batch) {
    throw Error(ErrorCode::kInvalidArgument, "layer",
                "makes {} of {}, whose first axis is not the batch",
                to_string(made), to_string(type));
  }
  return {made.dtype, Shape(made.shape.last(made.shape.rank() - 1))};
}

}  // namespace

LayerStack stack_layers(const std::vector<std::string>& calls,
                        const ModelInput& input, const LayerRegistry& layers) {
  LayerStack stack;
  // A state that is carried is of as many rows as there are lanes.
  const Dim batch = input.lanes > 0 ? input.lanes : symbol("N");
  TensorType arriving{DType::kF32, input.example};
  std::map<std::string, int> count;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::string text = calls[i];
    try {
      const auto call = parse_call(calls[i], layers, layers.kind());
      const LayerDef& def = *call.def;
      text = brief_call_text(def.name, def.options, call.options);
      // Nothing says of what type examples are but the layer that reads them.
      if (i == 0 && def.takes_indices) arriving.dtype = DType::kI32;
      require_taken(def, arriving, layers);
      ModelInput here = input;
      here.example = arriving.shape;
      std::shared_ptr<nn::Layer> layer = def.make(here, call.options);
      // Only the layer itself knows what it makes of its options.
      arriving = type_behind(*layer, arriving, batch);
      stack.layers.add(fmt::format("{}{}", def.name, ++count[def.name]),
                       std::move(layer));
    } catch (Error& error) {
      error.detail(fmt::format("at: layers.{}, {}", i, text));
      throw;
    }
  }
  stack.made = arriving.shape;
  return stack;
}

}  // namespace weft
