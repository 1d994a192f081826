// weft rnn: how recurrent layers run as loops, on this machine and on two
// chips.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/serving.h"
#include "cli/text_table.h"
#include "cli/verb.h"

#include "weft/base/parallel.h"
#include "weft/kernels/recurrent/search.h"
#include "weft/simulate/recurrent_chips.h"

namespace weft::cli {
namespace {

struct RnnArguments {
  std::string cell;
  std::int64_t hidden = 0;
  std::int64_t inputs = 0;  // 0: as many as hidden units
  std::int64_t steps = 25;
  std::int64_t batch = 1;
  ServingArguments serving;
  int threads = 0;
  bool as_json = false;
};

// A layer, and what is said of it.
struct Said {
  std::string cell;
  RecurrentLayer layer;
  LoopPlan loop;
  double matrix_seconds;
  // On this machine.
  recurrent::LoopParameters parameters;
  double seconds;
};

// The ten layers of DeepBench that the paper is about.
std::vector<RnnArguments> deep_bench(const RnnArguments& like) {
  std::vector<RnnArguments> all;
  const auto add = [&](const char* cell, std::int64_t hidden,
                       std::int64_t steps) {
    all.push_back(like);
    all.back().cell = cell;
    all.back().hidden = hidden;
    all.back().steps = steps;
  };
  add("lstm", 256, 150);
  add("lstm", 512, 25);
  add("lstm", 1024, 25);
  add("lstm", 1536, 50);
  add("lstm", 2048, 25);
  add("gru", 512, 1);
  add("gru", 1024, 1500);
  add("gru", 1536, 375);
  add("gru", 2048, 375);
  add("gru", 2560, 375);
  return all;
}

Said say(const RnnArguments& arguments) {
  const bool is_lstm = arguments.cell == "lstm";
  const std::int64_t inputs =
      arguments.inputs > 0 ? arguments.inputs : arguments.hidden;
  const RecurrentLayer layer{is_lstm ? 4 : 3, arguments.hidden, inputs,
                             arguments.steps};
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const recurrent::SequenceShape shape{
      is_lstm ? recurrent::Cell::kLstm : recurrent::Cell::kGru,
      size(arguments.steps),
      size(arguments.batch),
      size(inputs),
      size(arguments.hidden),
      arguments.serving.weights()};
  const auto parameters = recurrent::fastest_parameters(shape, thread_count());
  return {arguments.cell,
          layer,
          fastest_loop(layer, LoopChip()),
          seconds_on(layer, MatrixChip()),
          parameters,
          recurrent::seconds_of_step(shape, parameters) *
              static_cast<double>(arguments.steps)};
}

Json to_json(const Said& said) {
  return {
      {"cell", said.cell},
      {"hidden", said.layer.hidden},
      {"inputs", said.layer.inputs},
      {"steps", said.layer.steps},
      {"here",
       {{"seconds", said.seconds}, {"parameters", to_string(said.parameters)}}},
      {"loop_chip",
       {{"seconds", said.loop.seconds},
        {"units", said.loop.tile.units},
        {"chunks", said.loop.tile.chunks},
        {"compute_tiles", said.loop.compute_tiles},
        {"memory_tiles", said.loop.memory_tiles},
        {"utilization", said.loop.tile.units > 0
                            ? utilization(said.layer, said.loop.tile)
                            : 0}}},
      {"matrix_chip",
       {{"seconds", said.matrix_seconds},
        {"utilization", utilization(said.layer, MatrixChip().tile)}}}};
}

std::vector<std::string> row_of(const Said& said) {
  const auto ms = [](double seconds) {
    return fmt::format("{:.4g}", 1e3 * seconds);
  };
  const auto percent = [](double share) {
    return fmt::format("{:.0f} %", 100 * share);
  };
  const bool has_room = said.loop.tile.units > 0;
  return {fmt::format("{} {}, {} steps", said.cell, said.layer.hidden,
                      said.layer.steps),
          ms(said.seconds),
          has_room ? ms(said.loop.seconds) : "no room",
          has_room ? fmt::format("{} × {}", said.loop.tile.units,
                                 said.loop.tile.chunks)
                   : "",
          has_room ? percent(utilization(said.layer, said.loop.tile)) : "",
          ms(said.matrix_seconds),
          percent(utilization(said.layer, MatrixChip().tile)),
          to_string(said.parameters)};
}

void rnn(const RnnArguments& arguments) {
  if (arguments.threads > 0) set_thread_count(arguments.threads);
  if (arguments.cell.empty() != (arguments.hidden == 0)) {
    throw Error(ErrorCode::kInvalidArgument, "rnn",
                "a layer is a cell and --hidden")
        .hint("weft rnn lstm --hidden 1024; without both: ten of DeepBench");
  }
  const auto layers = arguments.cell.empty()
                          ? deep_bench(arguments)
                          : std::vector<RnnArguments>{arguments};
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {"ms a sequence", "here", "loop chip", "at once", "filled", "matrix chip",
       "filled", "here with"}};
  for (const RnnArguments& layer : layers) {
    const Said said = say(layer);
    if (arguments.as_json) {
      all.push_back(to_json(said));
    } else {
      rows.push_back(row_of(said));
    }
  }
  if (arguments.as_json) return print_json(all);
  fmt::print("{}", text_table(rows, "<>>>>>><"));
  fmt::print(
      "\nhere: measured, weights of {}; the chips: as Zhao et al. (2019) model "
      "Plasticine and Brainwave, weights of 8 bits, one sequence\n",
      arguments.serving.recurrent_weights);
}

void add_rnn(CLI::App& verb) {
  auto arguments = std::make_shared<RnnArguments>();
  verb.add_option("CELL", arguments->cell,
                  "lstm or gru; without one: ten layers of DeepBench")
      ->check(CLI::IsMember({"lstm", "gru"}));
  const CLI::Range positive(std::int64_t{1}, std::int64_t{1} << 14);
  verb.add_option("--hidden", arguments->hidden, "hidden units")
      ->check(positive);
  verb.add_option("--inputs", arguments->inputs,
                  "numbers of each step; as many as hidden units")
      ->check(positive);
  verb.add_option("--steps", arguments->steps, "of the sequence")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  verb.add_option("--batch", arguments->batch, "sequences at once, here")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  add_serving_options(verb, arguments->serving);
  verb.add_option("--threads", arguments->threads, "compute threads")
      ->check(CLI::Range(1, 1024));
  verb.add_flag("--json", arguments->as_json, "print one JSON array");
  verb.callback([arguments] { rnn(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_rnn(cli::VerbRegistry& verbs) {
  verbs.add({.name = "rnn",
             .summary = "Say how fast recurrent layers are, here and on chips",
             .order = 65,
             .add = cli::add_rnn});
}

}  // namespace weft
