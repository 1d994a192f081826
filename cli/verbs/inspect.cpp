// weft inspect FILE: what a file is, and what would run.
#include <CLI/CLI.hpp>
#include <fmt/ranges.h>
#include <set>

#include "cli/optimize_report.h"
#include "cli/plan_table.h"
#include "cli/recompute_report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/comm/graph/blueconnect_rewrite.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/compiler/inline_calls.h"
#include "weft/compiler/pass.h"
#include "weft/files/exported.h"
#include "weft/files/optimized.h"
#include "weft/graph/text.h"
#include "weft/train/model_in_use.h"
#include "weft/train/step/step.h"
#include "weft/train/trained_model.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct InspectArguments {
  std::string file;
  std::vector<std::string> overrides;
  std::string data;
  bool with_graph = false;
  bool with_dot = false;  // for Graphviz, and nothing else
  std::string function;
  std::vector<std::string> hosts;    // one per rank, for collectives
  std::vector<std::string> without;  // passes
  std::int64_t batch = 0;
  int threads = 0;
};

// Graph text beyond this is no program that somebody wrote or exported.
constexpr std::size_t kMostGraphBytes = std::size_t{64} << 20;

void print_parameters(const nn::Module& model) {
  for (const auto& named : model.parameters()) {
    const TensorType& type = named.parameter->type();
    // They stand in the order of nn::Role.
    constexpr const char* kRoles[] = {"", "  frozen", "  statistic",
                                      "  carried", "  mask"};
    const char* role = kRoles[static_cast<std::size_t>(named.parameter->role)];
    fmt::print("  {:<28} {:<24} {:>10}{}\n", named.name, to_string(type),
               bytes_text(static_cast<double>(type.bytes())), role);
  }
}

void print_data(const Assembly& assembly) {
  const DataDescription& data = assembly.data->description();
  const auto train = assembly.data->train(Shard());
  const auto held_out = assembly.data->measure(assembly.held_out(), Shard());
  fmt::print("data: {}  {} train / {} held out  {} classes\n", data.name(),
             grouped(train->examples_per_epoch()),
             grouped(held_out->examples_per_epoch()),
             grouped(static_cast<std::int64_t>(data.classes().size())));
}

// This shows a function that branches, loops or calls, after a run, or before
// any.
void print_flat(const TaggedExecutor& executor,
                const InspectArguments& arguments) {
  if (arguments.with_dot) {
    fmt::print("{}", to_dot(executor.graph()));
    return;
  }
  fmt::print("{}", to_string(executor.graph()));
  const TaggedProfile profile = executor.profile();
  // Without a run there are no numbers to show.
  if (profile.peak_frames > 0) fmt::print("\nthe run:\n{}", to_string(profile));
}

[[noreturn]] void fail_dot(const InspectArguments& arguments) {
  throw Error(ErrorCode::kUnsupported, arguments.file,
              "--dot draws functions that branch, loop or call")
      .hint("--graph prints the steps of any other");
}

void print_step(Assembly& assembly, const Recipe& recipe,
                const InspectArguments& arguments) {
  // Steps are run to be timed, so there must be weights.
  assembly.model->initialize(static_cast<std::uint64_t>(recipe.train.seed));
  const auto source = assembly.data->train(Shard());
  StepOptions options = step_options(recipe);
  options.tagged.is_timed = true;
  options.without = arguments.without;
  Step step(StepDescription(*assembly.model, *assembly.task, source->inputs(),
                            options, assembly.optimizer.get()),
            StepCut::kTrain);
  if (!arguments.with_dot) {
    fmt::print("\none training step, batch {}:\n", recipe.train.batch);
  }
  if (step.is_tagged()) {
    // The step runs twice, so that regions are planned when they are timed.
    const Batch& batch = source->next();
    for (int i = 0; i < 2; ++i) step.run(batch.tensors, {.number = i});
    return print_flat(step.tagged(), arguments);
  }
  if (arguments.with_dot) fail_dot(arguments);
  Plan& plan = step.plan();
  if (const OptimizeReport* report = step.optimize_report()) {
    print_optimize_report(*report);
    fmt::print("\n");
  }
  if (const RecomputeReport* report = plan.recomputed()) {
    print_recompute_report(*report);
    fmt::print("\n");
  }
  print_plan(plan, step.arguments(), step.results());
}

void inspect_recipe(const InspectArguments& arguments) {
  Recipe recipe = load_recipe(arguments.file, arguments.overrides);
  if (!arguments.data.empty()) recipe.data.folder = arguments.data;
  if (arguments.batch > 0) recipe.train.batch = arguments.batch;
  Assembly assembly = assemble(recipe);
  // Graphviz reads the output, so nothing else may stand in it.
  if (arguments.with_dot) return print_step(assembly, recipe, arguments);
  fmt::print("{}: a recipe\n\n{}\n", arguments.file, to_toml(recipe));
  print_data(assembly);
  fmt::print("model: {}, {} parameters\n", recipe.model.name,
             grouped(assembly.model->parameter_count()));
  print_parameters(*assembly.model);
  if (arguments.with_graph) print_step(assembly, recipe, arguments);
}

void print_metadata(const CheckpointInfo& info) {
  fmt::print("step {}, next batch {} of epoch {}, seed {}\n",
             grouped(info.step), info.position.batch + 1,
             info.position.epoch + 1, info.seed);
  for (const auto& [name, value] : info.metrics) {
    fmt::print("  {:<20} {:.6g}\n", name, value);
  }
  fmt::print("\n{}\n", printable(info.recipe));
}

void print_checkpoint(const SafetensorsFile& file, const fs::path& path) {
  std::int64_t numbers = 0;
  double bytes = 0;
  for (const SafetensorsEntry& entry : file.entries()) {
    numbers += entry.type.shape.num_elements();
    bytes += static_cast<double>(entry.type.bytes());
  }
  fmt::print("{}: {} tensors, {} numbers, {}\n", path.string(),
             file.entries().size(), grouped(numbers), bytes_text(bytes));
  for (const SafetensorsEntry& entry : file.entries()) {
    fmt::print("  {:<36} {:<24} {:>10}\n", printable(entry.name),
               to_string(entry.type),
               bytes_text(static_cast<double>(entry.type.bytes())));
  }
  fmt::print("\n");
  if (!file.metadata().contains("weft")) {  // somebody else's weights
    for (const auto& [key, text] : file.metadata()) {
      fmt::print("{}: {}\n", printable(key), printable(text));
    }
    return;
  }
  print_metadata(CheckpointFile(path).info());
}

void print_functions(const Graph& graph, const InspectArguments& arguments);

// What a model that stands alone says of itself beside its functions.
void print_model(const ExportedFile& file) {
  const auto model = open_model(file);
  const DataDescription& data = model->description();
  fmt::print("{}: a trained model\norigin: {}\n", file.path().string(),
             printable(file.text("weft.origin")));
  fmt::print("data: {}\n", printable(data.name()));
  for (const Feature& feature : data.features()) {
    fmt::print("  {:<20} {}\n", printable(feature.name),
               to_string(feature.type));
  }
  if (!data.classes().empty()) {
    fmt::print("classes: {}\n",
               printable(fmt::to_string(fmt::join(data.classes(), ", "))));
  }
  print_metadata(model->info());
}

// An exported function carries its graph beside its weights.
void inspect_exported(const InspectArguments& arguments, const fs::path& path) {
  const ExportedFile file(path);
  const ExportedFunction exported(path);
  if (!arguments.with_dot) {
    if (describes_model(file)) {
      print_model(file);
    } else {
      fmt::print("{}: an exported function\n", path.string());
    }
    if (const auto report = optimize_report(file.metadata(), path.string())) {
      fmt::print("\n");
      print_optimize_report(*report);
    }
  }
  print_functions(exported.function().graph(), arguments);
}

void inspect_checkpoint(const InspectArguments& arguments,
                        const fs::path& path) {
  const SafetensorsFile file(path);
  if (!arguments.with_dot) print_checkpoint(file, path);
  if (!file.metadata().contains("weft")) return;  // somebody else's weights
  if (!arguments.with_graph && !arguments.with_dot) return;

  TrainedModel trained = load_trained(path, arguments.data);
  const Assembly& assembly = trained.assembly;
  std::vector<BatchInput> inputs =
      assembly.data->measure(assembly.held_out(), Shard())->inputs();
  // The batch of running text is the number of its streams, which the model has
  // state for.
  if (arguments.batch > 0 && !assembly.data->description().is_sequential()) {
    for (BatchInput& input : inputs) input.type.shape[0] = arguments.batch;
  }
  StepOptions options = step_options(trained.recipe);
  options.without = arguments.without;
  Step step(StepDescription(*assembly.model, *assembly.task, inputs, options),
            StepCut::kPredict);
  // The time of a step does not depend on the numbers, so zeros will do.
  if (step.is_tagged()) return print_flat(step.tagged(), arguments);
  Plan& plan = step.plan();
  if (arguments.with_dot) fail_dot(arguments);
  fmt::print("one prediction, batch {}:\n", inputs[0].type.shape[0]);
  std::vector<Tensor> results;
  for (const TensorType& type : plan.result_types()) {
    results.push_back(Tensor::empty(type));
  }
  print_plan(plan, step.arguments(), results);
}

void inspect_graph(const InspectArguments& arguments) {
  const Graph graph =
      parse_graph(read_text(arguments.file, kMostGraphBytes), arguments.file);
  if (!arguments.with_dot) {
    fmt::print("{}: a graph of {} function{}\n", arguments.file,
               graph.functions.size(), graph.functions.size() == 1 ? "" : "s");
  }
  print_functions(graph, arguments);
}

// This is the function that is drawn: the last one, unless one is named.
const Function& entry_of(const Graph& graph,
                         const InspectArguments& arguments) {
  if (graph.functions.empty()) {
    throw Error(ErrorCode::kInvalidArgument, arguments.file,
                "the graph has no functions");
  }
  if (arguments.function.empty()) return graph.functions.back();
  if (const Function* found = graph.find(arguments.function)) return *found;
  throw Error(ErrorCode::kInvalidArgument, arguments.file,
              "there is no function @{}", arguments.function);
}

// What BlueConnect makes of the all_reduce ops on these hosts.
void print_rewrite(const Function& function,
                   const InspectArguments& arguments) {
  const BlueConnectRewrite rewrite =
      rewrite_blueconnect(function, arguments.hosts);
  fmt::print("on {} hosts:{}\n",
             std::set(arguments.hosts.begin(), arguments.hosts.end()).size(),
             rewrite.decisions.empty() ? " no all_reduce op" : "");
  if (rewrite.decisions.empty()) return;
  for (const BlueConnectDecision& each : rewrite.decisions) {
    fmt::print("  {}\n", to_string(each));
  }
  fmt::print("{}\n", to_string(rewrite.function));
}

void print_functions(const Graph& graph, const InspectArguments& arguments) {
  const Function& entry = entry_of(graph, arguments);
  if (!arguments.with_dot) {
    for (const Function& function : graph.functions) {
      fmt::print("\n@{}: {} parameters, {} nodes, {} results\n",
                 function.name(), function.parameters().size(),
                 function.nodes().size(), function.results().size());
      fmt::print("{}\n", to_string(function));
      if (!arguments.hosts.empty()) print_rewrite(function, arguments);
      // A function with control has no plan; it is shown flat, below.
      if (arguments.with_graph && !has_control(function)) {
        print_plan(function, arguments.batch, arguments.without);
      }
    }
  }
  if (!has_control(entry)) {
    if (arguments.with_dot) fail_dot(arguments);
    return;
  }
  if (!arguments.with_graph && !arguments.with_dot) return;
  if (!arguments.with_dot) fmt::print("\n@{}, flat:\n", entry.name());
  // Only the types are used, and the dims of the zeros are settled.
  std::vector<TensorType> types;
  for (const Tensor& zeros : zero_arguments(entry, arguments.batch)) {
    types.push_back(zeros.type());
  }
  print_flat(TaggedExecutor(lower(graph, entry.name(), types),
                            {.without = arguments.without}),
             arguments);
}

// What would be ignored is refused.
void refuse_ignored(const InspectArguments& arguments, const fs::path& path) {
  const bool is_recipe = path.extension() == ".toml";
  if (!is_recipe && !arguments.overrides.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "--set",
                "changes keys of a recipe, and {} is none", path.string());
  }
  const bool is_checkpoint =
      path.extension() == ".safetensors" && !is_exported_function(path);
  if ((is_recipe || is_checkpoint) && !arguments.hosts.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "--hosts",
                "is for the all_reduce ops of a graph, and {} has none",
                path.string());
  }
}

void inspect(const InspectArguments& arguments) {
  if (arguments.threads > 0) set_thread_count(arguments.threads);
  check(PassOptions{.without = arguments.without});
  const fs::path path = checkpoint_of(arguments.file);
  refuse_ignored(arguments, path);
  if (is_exported_function(path)) return inspect_exported(arguments, path);
  const auto extension = path.extension();
  if (extension == ".toml") return inspect_recipe(arguments);
  if (extension == ".safetensors") return inspect_checkpoint(arguments, path);
  if (extension == ".weft" || extension == ".graph" || extension == ".txt") {
    return inspect_graph(arguments);
  }
  throw Error(ErrorCode::kUnsupported, arguments.file,
              "inspect does not know files called *{}", extension.string())
      .hint(
          "it reads recipes (.toml), checkpoints (.safetensors), graph text "
          "(.weft), trained models and exported functions");
}

void add_inspect(CLI::App& verb) {
  auto arguments = std::make_shared<InspectArguments>();
  verb.add_option("FILE", arguments->file, "what to look into");
  verb.add_flag("--graph", arguments->with_graph,
                "show each step: its kernel, its speed, and why other "
                "kernels declined");
  verb.add_flag("--dot", arguments->with_dot,
                "draw a function that branches, loops or calls, for Graphviz");
  verb.add_option("--without", arguments->without,
                  "leave out these passes of the compiler (weft passes)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PASS,PASS,…");
  verb.add_option("--function", arguments->function,
                  "which one to draw (default: the last)")
      ->type_name("NAME");
  verb.add_option("--hosts", arguments->hosts,
                  "the host of each rank: what BlueConnect makes of the "
                  "all_reduce ops of a graph there")
      ->delimiter(',')
      ->type_name("NAME,NAME,…");
  // CLI11 would otherwise take every following word for another value, FILE
  // among them.
  verb.add_option("--set", arguments->overrides, "change a key of a recipe")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  verb.add_option("--data", arguments->data, "folder of the data")
      ->type_name("DIR");
  verb.add_option("--batch", arguments->batch, "examples in the graph")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--threads", arguments->threads, "compute threads")
      ->check(CLI::Range(1, 1024));
  verb.callback([&verb, arguments] {
    if (!verb.get_subcommands().empty()) return;  // it has run by itself
    if (arguments->file.empty()) throw CLI::RequiredError("FILE");
    inspect(*arguments);
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_inspect(cli::VerbRegistry& verbs) {
  verbs.add({.name = "inspect",
             .summary = "Say what a recipe, checkpoint or graph holds",
             .order = 50,
             .add = cli::add_inspect});
}

}  // namespace weft
