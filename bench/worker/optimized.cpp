// weft-bench optimized NETWORK --side S --batch B --alpha A: a network for
// inference, as it is, searched greedily and searched with freedom. NETWORK is
// a model of images of S x S pixels, or `sru` or `lstm-gates`, S wide, of 20
// steps with a product for each gate. With `--whole 1` it is not split into
// parts. Requests: `report`, with the operations
// of a run as they stand in the network, 3 x 3 windows by a quarter of the
// multiplications; `run start`, `run greedy` and `run`, which is the last.
#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/graph/builder.h"
#include "weft/nn/init.h"
#include "weft/nn/model.h"
#include "weft/nn/staging.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/runtime/optimize.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kClasses = 1000;
constexpr int kRunsOfBlock = 10;

struct Network {
  Function function;
  std::vector<Tensor> parameters;
  TensorType input;
};

Network build_images(const WorkerOptions& options) {
  const Dim side = options.integer("side");
  const ModelInput input{.example = {side, side, 3}, .classes = kClasses};
  Options model_options;
  const auto bypass = options.values.find("bypass");
  if (bypass != options.values.end()) {
    model_options["bypass"] = bypass->second;
  }
  const auto model =
      build_model(model_registry().get(options.model), input, model_options);
  model->initialize(1);
  model->train(false);
  Network network;
  network.input = {DType::kF32, {options.integer("batch"), side, side, 3}};
  FunctionBuilder builder("predict");
  const Value x = builder.parameter(network.input, "x");
  const nn::Staging staged(*model, builder);
  network.function = builder.build(
      [&] { return std::vector{dynamic_cast<nn::Layer&>(*model)(x)}; });
  for (const auto& named : model->parameters()) {
    network.parameters.push_back(named.parameter->variable.tensor());
  }
  return network;
}

// What a cell is made of, whose gates have a product each.
class Cell {
 public:
  Cell(FunctionBuilder& builder, Network& network, Dim width, Dim batch)
      : builder_(builder), network_(network), width_(width), batch_(batch) {}

  Value weights(const std::string& name) {
    const Tensor drawn = nn::initial_value({DType::kF32, {width_, width_}},
                                           nn::Init::normal(0.02), 1, name);
    network_.parameters.push_back(drawn);
    return builder_.parameter(drawn.type(), name);
  }
  Value zeros() const { return full({DType::kF32, {batch_, width_}}, 0); }

 private:
  FunctionBuilder& builder_;
  Network& network_;
  Dim width_, batch_;
};

using Step = std::function<Value(const Value& x, const Value& h)>;

// Lei et al., "Simple recurrent units", 2017, with its products step by step.
Step sru(Cell& cell) {
  const Value w = cell.weights("w");
  const Value wf = cell.weights("wf");
  const Value wr = cell.weights("wr");
  auto c = std::make_shared<Value>(cell.zeros());
  return [=](const Value& x, const Value&) {
    const Value f = sigmoid(matmul(x, wf));
    const Value r = sigmoid(matmul(x, wr));
    const Value candidate = matmul(x, w);
    *c = f * *c + (1 - f) * candidate;
    return r * tanh(*c) + (1 - r) * x;
  };
}

Step lstm_gates(Cell& cell) {
  std::vector<Value> of_x, of_h;
  for (const char* gate : {"i", "f", "g", "o"}) {
    of_x.push_back(cell.weights(fmt::format("w{}", gate)));
    of_h.push_back(cell.weights(fmt::format("u{}", gate)));
  }
  auto c = std::make_shared<Value>(cell.zeros());
  return [=](const Value& x, const Value& h) {
    std::vector<Value> gates;
    for (std::size_t k = 0; k < 4; ++k) {
      gates.push_back(matmul(x, of_x[k]) + matmul(h, of_h[k]));
    }
    *c = sigmoid(gates[1]) * *c + sigmoid(gates[0]) * tanh(gates[2]);
    return sigmoid(gates[3]) * tanh(*c);
  };
}

Network build_recurrent(const WorkerOptions& options, Step (*make)(Cell&)) {
  constexpr Dim kSteps = 20;
  const Dim width = options.integer("side");
  const Dim batch = options.integer("batch");
  Network network;
  network.input = {DType::kF32, {kSteps, batch, width}};
  FunctionBuilder builder("predict");
  const Value xs = builder.parameter(network.input, "x");
  network.function = builder.build([&] {
    Cell cell(builder, network, width, batch);
    const Step step = make(cell);
    Value h = cell.zeros();
    for (Dim t = 0; t < kSteps; ++t) {
      h = step(reshape(slice_axis(xs, 0, t, t + 1), {batch, width}), h);
    }
    return std::vector{h};
  });
  return network;
}

Network build(const WorkerOptions& options) {
  if (options.model == "sru") return build_recurrent(options, sru);
  if (options.model == "lstm-gates") {
    return build_recurrent(options, lstm_gates);
  }
  return build_images(options);
}

// Whether its multiplications can be a quarter of what sums of windows take
// (kernels/simd/winograd.h), whether or not they are here.
bool is_winograds(const Function& function, const Node& node) {
  if (node.op->name() != "conv2d") return false;
  const Shape& window = function.input_types(node)[1].shape;
  return window[0] == 3 && window[1] == 3 &&
         node.attributes.integer("groups") == 1 &&
         node.attributes.integers("strides") == Integers{1, 1} &&
         node.attributes.integers("dilation") == Integers{1, 1};
}

// The least operations that any kernel of ours takes for the network.
double flops_of(const Function& function) {
  double flops = 0;
  for (const Node& node : function.nodes()) {
    const auto inputs = function.input_types(node);
    const auto outputs = function.output_types(node);
    const double taken =
        node.op->cost()({*node.op, inputs, node.attributes, outputs}).flops;
    flops += is_winograds(function, node) ? taken / 4 : taken;
  }
  return flops;
}

// Cells stay separate ops, so that what is merged is compared with what is not.
std::vector<std::string> without() { return {"form_recurrent_cells"}; }

// A form of the network with its weights prepared, and room for a run.
class Form {
 public:
  Form(const Function& function, const Network& network, const Frozen& frozen)
      : executable_(function, {.frozen = frozen, .without = without()}) {
    arguments_.push_back(Tensor::zeros(network.input));
    arguments_.insert(arguments_.end(), network.parameters.begin(),
                      network.parameters.end());
    for (const TensorType& type : executable_.result_types(arguments_)) {
      results_.push_back(Tensor::empty(type));
    }
  }

  Json run() {
    return timed([&] {
      for (int i = 0; i < kRunsOfBlock; ++i) {
        executable_.run(arguments_, results_);
      }
      return kRunsOfBlock;
    });
  }

 private:
  Executable executable_;
  std::vector<Tensor> arguments_;
  std::vector<Tensor> results_;
};

}  // namespace

void race_optimized(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const Network network = build(options);
  std::vector<bool> is_frozen(network.function.parameters().size(), true);
  is_frozen[0] = false;
  Frozen frozen;
  for (std::size_t i = 0; i < network.parameters.size(); ++i) {
    frozen.emplace_back(i + 1, network.parameters[i]);
  }
  // What is measured to be slower than the network as it is, is not taken.
  const bool is_whole = options.values.contains("whole");
  const auto optimized = [&](double alpha) {
    return optimize(
        network.function, is_frozen, {},
        {.search = {.alpha = alpha, .seconds = 300, .is_split = !is_whole},
         .without = without()});
  };
  const Optimized greedy = optimized(1);
  const Optimized relaxed = optimized(std::stod(options.text("alpha")));
  Form forms[] = {{network.function, network, frozen},
                  {greedy.function, network, frozen},
                  {relaxed.function, network, frozen}};
  const auto to_json = [](const OptimizeReport& report) {
    std::map<std::string, int> rules;
    for (const SearchStep& step : report.steps) ++rules[step.rule];
    return Json{
        {"taken", report.taken},           {"before", report.predicted_before},
        {"after", report.predicted_after}, {"tried", report.tried},
        {"parts", report.parts},           {"rules", rules}};
  };
  serve({{"report",
          [&] {
            return Json{{"greedy", to_json(greedy.report)},
                        {"relaxed", to_json(relaxed.report)},
                        {"flops", flops_of(network.function)}};
          }},
         {"run start", [&] { return forms[0].run(); }},
         {"run greedy", [&] { return forms[1].run(); }},
         {"run", [&] { return forms[2].run(); }}},
        baseline);
}

}  // namespace weft::bench
