// weft run FILE: runs an exported function.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>

#include "cli/ranks.h"
#include "cli/report.h"
#include "cli/tensor_text.h"
#include "cli/verb.h"

#include "weft/base/parallel.h"
#include "weft/comm/graph/exported_ranks.h"
#include "weft/files/exported.h"
#include "weft/files/safetensors.h"
#include "weft/runtime/profile_totals.h"
#include "weft/runtime/trace_file.h"

namespace weft::cli {
namespace {

struct RunArguments {
  std::string file;
  std::vector<std::string> inputs;
  std::string input_file;
  std::string output_file;
  std::string placement;
  std::vector<int> weights;  // ranks that have them
  std::string order;         // empty: none
  std::string topology;
  int times = 1;
  std::string collective;  // empty: in parts
  std::string profile;     // a file; empty: none is written
  RankArguments ranks;
  std::int64_t max_frames = TaggedOptions().max_frames;

  TaggedOptions tagged() const {
    TaggedOptions options;
    options.max_frames = max_frames;
    return options;
  }
  PartsOptions parts() const {
    return {.placement = placement,
            .weights = weights,
            .order = order.empty() ? ReceiveOrder::kNone : receive_order(order),
            .topology = topology,
            .times = times,
            .tagged = tagged()};
  }
  // The option that makes no sense for one worker alone; empty if there is
  // none.
  std::string for_several() const {
    if (!collective.empty()) return "--collective";
    if (!weights.empty()) return "--weights";
    if (!order.empty()) return "--order";
    if (!placement.empty()) return "--place";
    if (!topology.empty()) return "--topology";
    return times > 1 ? "--times" : "";
  }
  ExecutableOptions executable() const { return {.tagged = tagged()}; }
};

// A double does not hold every i64.
Json element_of(const Tensor& tensor, std::int64_t index) {
  if (tensor.dtype() != DType::kI64) return number(tensor.item(index));
  return tensor.data<std::int64_t>()[index];
}

// Elements are taken in row-major order, which is that of nested lists.
Json to_json(const Tensor& tensor, int axis, std::int64_t& next) {
  if (axis == tensor.shape().rank()) return element_of(tensor, next++);
  Json list = Json::array();
  for (Dim i = 0; i < tensor.shape()[axis]; ++i) {
    list.push_back(to_json(tensor, axis + 1, next));
  }
  return list;
}

std::vector<Tensor> read_inputs(const ExportedFunction& function,
                                const RunArguments& arguments) {
  auto texts = named_texts("--input", arguments.inputs);
  std::optional<SafetensorsFile> file;
  if (!arguments.input_file.empty()) file.emplace(arguments.input_file);
  std::vector<Tensor> inputs;
  // Every message says what the function takes, so it is written down first.
  std::string takes;
  for (const auto& [name, type] : function.arguments()) {
    takes += fmt::format("{}{}: {}", takes.empty() ? "" : ", ", name,
                         to_string(type));
  }
  for (const auto& [name, type] : function.arguments()) {
    const auto text = texts.find(name);
    // What is typed comes before what is in the file.
    if (text != texts.end()) {
      inputs.push_back(parse_tensor(text->second, type.dtype));
      // What is left over in the end was meant for an input that there is not.
      texts.erase(text);
    } else if (file && file->find(name) != nullptr) {
      inputs.push_back(file->read(name));
    } else {
      throw Error(ErrorCode::kInvalidArgument, "run", "no input '{}'", name)
          .detail("takes: " + takes)
          .hint(fmt::format("--input {}=…, or a file with --inputs", name));
    }
  }
  if (!texts.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "run", "there is no input '{}'",
                texts.begin()->first)
        .detail("takes: " + takes);
  }
  return inputs;
}

// This rank's results: of its part, or of all on its own inputs.
std::vector<Tensor> run_rank(ExportedFunction& function,
                             const RunArguments& arguments,
                             const std::vector<Tensor>& inputs,
                             Transport& transport) {
  if (arguments.collective.empty()) {
    std::string timed;
    auto results =
        run_parts(function, inputs, arguments.parts(), transport, timed);
    // What this says is of the rank whose results are printed.
    if (transport.rank() == 0) fmt::print(stderr, "{}", timed);
    return results;
  }
  std::string said;
  auto results =
      run_together(function, inputs, arguments.collective, transport, said);
  // All ranks are told the same; one of them says it.
  if (transport.rank() == 0) fmt::print(stderr, "{}", said);
  return results;
}

// Runs the ranks of this process; the first one's results count.
std::vector<Tensor> run_ranks(const RunArguments& arguments,
                              LocalRanks& ranks) {
  std::vector<Tensor> results;
  const int threads = thread_count();
  ranks.run([&](Transport& transport) {
    // Threads share the cores that one worker would have; a process is told how
    // many it has by whoever starts it.
    set_thread_count(threads_of_rank(ranks, transport, threads, true));
    // Each worker reads the file for itself, as processes do.
    ExportedFunction function(arguments.file, arguments.executable());
    auto own = run_rank(function, arguments, read_inputs(function, arguments),
                        transport);
    if (transport.rank() == ranks.first()) results = std::move(own);
  });
  return results;
}

void print_results(const RunArguments& arguments,
                   const std::vector<Tensor>& results) {
  if (!arguments.output_file.empty()) {
    std::vector<NamedTensor> named;
    for (std::size_t i = 0; i < results.size(); ++i) {
      named.push_back({fmt::format("result{}", i), results[i]});
    }
    write_safetensors(arguments.output_file, named);
    return;
  }
  Json json = Json::array();
  for (const Tensor& result : results) {
    std::int64_t next = 0;
    json.push_back({{"type", to_string(result.type())},
                    {"value", to_json(result, 0, next)}});
  }
  print_json({{"results", json}});
}

void run_all(const RunArguments& arguments) {
  const RankChoice choice = choose_ranks(arguments.ranks);
  if (const std::string option = arguments.for_several();
      !option.empty() && choice.is_alone()) {
    throw Error(ErrorCode::kInvalidArgument, option, "is for several workers")
        .hint("--workers 4, --transport, or mpirun -n 4");
  }
  if (choice.is_alone()) {
    // A function that runs alone needs no parts.
    ExportedFunction function(arguments.file, arguments.executable());
    print_results(arguments, function.run(read_inputs(function, arguments)));
    return;
  }
  const auto ranks = open_ranks(choice);
  const auto results = run_ranks(arguments, *ranks);
  if (ranks->first() == 0) print_results(arguments, results);
}

void run(const RunArguments& arguments) {
  if (arguments.profile.empty()) return run_all(arguments);
  std::vector<ProfileEvent> events;
  std::size_t lost = 0;
  {
    Profile profile;
    run_all(arguments);
    events = profile.take();
    lost = profile.lost();
  }
  write_trace(arguments.profile, events);
  // Results stand on standard output.
  fmt::print(stderr, "{}", profile_text(totals_of(events), machine_roof()));
  if (lost > 0) {
    fmt::print(stderr, "{} events were not kept: there were more than {}\n",
               lost, Profile::kMostEvents);
  }
}

void add_run(CLI::App& verb) {
  auto arguments = std::make_shared<RunArguments>();
  verb.add_option("FILE", arguments->file, "what export_function() wrote")
      ->required();
  verb.add_option("--input", arguments->inputs,
                  "NAME=VALUE, the value as JSON: a number, or nested lists")
      ->type_name("NAME=VALUE");
  verb.add_option("--inputs", arguments->input_file,
                  "inputs by name, in a .safetensors file")
      ->type_name("FILE");
  verb.add_option("--output", arguments->output_file,
                  "write the results there (result0, …) and print nothing")
      ->type_name("FILE");
  add_rank_options(verb, arguments->ranks,
                   "run in parts, by as many threads; mpirun and srun start "
                   "parts as processes");
  verb.add_option("--collective", arguments->collective,
                  "every worker runs all of it on its own inputs, and its "
                  "all_reduce ops add up over them; blueconnect takes these "
                  "apart for the hosts first")
      ->check(CLI::IsMember({"ring", "halving", "direct", "blueconnect"}));
  verb.add_option("--place", arguments->placement,
                  "which part computes what: function=1 *=0; what is not "
                  "named follows its operands")
      ->type_name("TEXT")
      ->excludes("--collective");
  verb.add_option("--weights", arguments->weights,
                  "the parts that have what the function captured; others are "
                  "sent what they compute with. Left out: all have all of it")
      ->type_name("PART,…")
      ->delimiter(',')
      ->excludes("--collective");
  verb.add_option("--order", arguments->order,
                  "which values a part is sent first: what lets it compute "
                  "soonest, by the graph (tic) or by measured times (tac); "
                  "random and last_use are there to compare")
      ->check(CLI::IsMember({"none", "tic", "tac", "random", "last_use"}))
      ->excludes("--collective");
  verb.add_option("--topology", arguments->topology,
                  "the network that --order reckons with, \"2@50us,25MB/s\"; "
                  "left out, it is measured")
      ->type_name("TEXT")
      ->excludes("--collective");
  verb.add_option("--times", arguments->times,
                  "run it so often, and say of each run how long it took")
      ->check(CLI::PositiveNumber)
      ->excludes("--collective");
  verb.add_option("--profile", arguments->profile,
                  "record each step and message there, for ui.perfetto.dev")
      ->type_name("FILE");
  verb.add_option("--max-frames", arguments->max_frames,
                  "activations of recursive functions that may be alive at "
                  "once")
      ->check(CLI::PositiveNumber);
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_run(cli::VerbRegistry& verbs) {
  verbs.add({.name = "run",
             .summary = "Run a function that was exported to a file",
             .order = 40,
             .add = cli::add_run});
}

}  // namespace weft
