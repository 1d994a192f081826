// weft predict MODEL INPUT: what a trained model makes of an input.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <unistd.h>

#include "cli/picture.h"
#include "cli/report.h"
#include "cli/serving.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/train/model_in_use.h"

namespace weft::cli {
namespace {

struct PredictArguments {
  std::string model;
  std::string input;
  std::string data;
  ServingArguments serving;
  bool as_json = false;
};

void predict(const PredictArguments& arguments) {
  const auto model = open_model(
      arguments.model, {.data_folder = arguments.data,
                        .recurrent_weights = arguments.serving.weights()});
  const auto predictor = model->predictor();
  const Prediction prediction = predict_typed(*predictor, arguments.input);
  if (arguments.as_json) {
    print_json(prediction.json);
    return;
  }
  if (prediction.picture) {
    // A file gets characters that any reader shows.
    fmt::print("{}",
               draw_picture(*prediction.picture, has_colours(STDOUT_FILENO),
                            terminal_width()));
  }
  for (const std::string& line : prediction.lines) fmt::print("{}\n", line);
}

void add_predict(CLI::App& verb) {
  auto arguments = std::make_shared<PredictArguments>();
  verb.add_option("MODEL", arguments->model,
                  "what weft export wrote, a checkpoint, or the folder of a "
                  "run")
      ->required();
  verb.add_option("INPUT", arguments->input,
                  "what the model is given: a PNG or JPEG file, or a sentence")
      ->required();
  verb.add_option("--data", arguments->data,
                  "folder of the data that a checkpoint was trained on")
      ->type_name("DIR");
  add_serving_options(verb, arguments->serving);
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { predict(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_predict(cli::VerbRegistry& verbs) {
  verbs.add({.name = "predict",
             .summary = "Say what a model makes of an input",
             .order = 30,
             .add = cli::add_predict});
}

}  // namespace weft
