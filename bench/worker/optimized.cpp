// weft-bench optimized MODEL --side S --batch B --alpha A: a network for
// inference, as it is, searched greedily and searched with freedom. Requests:
// `report`; `run start`, `run greedy`, `run relaxed`, and `run`, the fastest.
#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/compiler/frozen.h"
#include "weft/compiler/search.h"
#include "weft/graph/builder.h"
#include "weft/nn/model.h"
#include "weft/nn/staging.h"
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

Network build(const WorkerOptions& options) {
  const Dim side = options.integer("side");
  ModelInput input{.example = {side, side, 3}, .classes = kClasses};
  const ModelDef& def = model_registry().get(options.model);
  const auto model = build_model(def.name, input, Options());
  model->initialize(1);
  model->train(false);
  Network network;
  network.input = {DType::kF32, {options.integer("batch"), side, side, 3}};
  FunctionBuilder builder("predict");
  const Value x = builder.parameter(network.input, "x");
  const nn::Staging staged(*model, builder);
  network.function = builder.build([&] {
    return std::vector{dynamic_cast<nn::Layer&>(*model)(x)};
  });
  for (const auto& named : model->parameters()) {
    network.parameters.push_back(named.parameter->variable.value().tensor());
  }
  return network;
}

// A form of the network with its weights prepared, and room for a run.
class Form {
 public:
  Form(const Function& function, const Network& network,
       const std::vector<bool>& is_frozen)
      : parts_(split_frozen(function, is_frozen)),
        executable_(parts_.rest),
        arguments_(Executable(parts_.preparation).run(network.parameters)) {
    arguments_.insert(arguments_.begin(), Tensor::zeros(network.input));
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
  FrozenParts parts_;
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
  CostTable table = CostTable::of_machine();
  FunctionCosts costs(table, {});
  const auto search_with = [&](double alpha, bool is_split) {
    return search(network.function, is_frozen, costs,
                  {.alpha = alpha, .seconds = 300, .is_split = is_split});
  };
  const SearchResult greedy = search_with(1, true);
  const SearchResult relaxed =
      search_with(std::stod(options.text("alpha")), true);
  table.keep();
  Form forms[] = {{network.function, network, is_frozen},
                  {greedy.function, network, is_frozen},
                  {relaxed.function, network, is_frozen}};
  const auto to_json = [](const SearchResult& result) {
    std::map<std::string, int> rules;
    for (const SearchStep& step : result.taken) ++rules[step.rule];
    return Json{{"before", result.before},     {"after", result.after},
                {"tried", result.tried},       {"parts", result.parts},
                {"expanded", result.expanded}, {"rules", rules}};
  };
  serve({{"report",
          [&] {
            return Json{{"greedy", to_json(greedy)},
                        {"relaxed", to_json(relaxed)}};
          }},
         {"whole", [&] { return to_json(search_with(1.05, false)); }},
         {"run start", [&] { return forms[0].run(); }},
         {"run greedy", [&] { return forms[1].run(); }},
         {"run", [&] { return forms[2].run(); }}},
        baseline);
}

}  // namespace weft::bench
