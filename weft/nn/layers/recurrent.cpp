// Recurrent layers, and what ends a sequence.
#include "weft/nn/recurrent.h"

#include "weft/nn/layer_def.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"

namespace weft {
namespace {

// Layers by name take the batch first, and those of recurrent.h the steps.
template <class Cells>
class BatchFirst final : public nn::Layer {
 public:
  BatchFirst(std::int64_t inputs, std::int64_t hidden,
             const nn::RecurrentOptions& options)
      : cells_(child("cells", Cells(inputs, hidden, options))) {}

 protected:
  Value forward(const Value& x) override {
    // Kernels go over time and want a step's rows side by side; what stands
    // around layers by name has the batch first.
    return transpose(cells_(transpose(x, {1, 0, 2})), {1, 0, 2});
  }

 private:
  Cells& cells_;
};

template <class Cells>
void add_recurrent(LayerRegistry& layers, const char* name,
                   const char* summary) {
  layers.add({.name = name,
              .summary = summary,
              .takes = "[steps, width]",
              .makes = "[steps, hidden]",
              .rank = 2,
              .options = {{"hidden", std::int64_t{0},
                           "units; 0: as many numbers as a step has",
                           kLayerSizesOrNone},
                          {"layers",
                           std::int64_t{1},
                           "on top of each other",
                           {.least = 1, .most = 1024}},
                          {"dropout",
                           0.0,
                           "between layers",
                           {.least = 0, .most = 1, .is_open_above = true}}},
              .make = [](const ModelInput& input,
                         const Options& options) -> std::unique_ptr<nn::Layer> {
                const std::int64_t width = input.example.back();
                const auto hidden = option<std::int64_t>(options, "hidden");
                return std::make_unique<BatchFirst<Cells>>(
                    width, hidden == 0 ? width : hidden,
                    nn::RecurrentOptions{
                        .layers = option<std::int64_t>(options, "layers"),
                        // Streams of running text have a next batch that goes
                        // on where this one ends.
                        .carried_batch = input.lanes,
                        .dropout = option<double>(options, "dropout")});
              }});
}

Value last_step(const Value& x) {
  const Shape& shape = x.shape();
  return reshape(slice_axis(x, 1, shape[1] - 1, shape[1]),
                 {shape[0], shape[2]});
}

}  // namespace

void register_layer_recurrent(LayerRegistry& layers) {
  add_recurrent<nn::Lstm>(
      layers, "lstm",
      "long short-term memory; of running text its state runs on");
  add_recurrent<nn::Gru>(
      layers, "gru",
      "gated recurrent units; of running text their state runs on");
  add_recurrent<nn::Sru>(
      layers, "sru",
      "simple recurrent units; of running text their state runs on");
  layers.add({.name = "last-step",
              .summary = "what a sequence ends with",
              .takes = "[steps, width]",
              .makes = "[width]",
              .rank = 2,
              .make = [](const ModelInput&,
                         const Options&) -> std::unique_ptr<nn::Layer> {
                return std::make_unique<nn::FunctionLayer>(last_step);
              }});
}

}  // namespace weft
