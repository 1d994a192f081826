// weft predict CHECKPOINT IMAGE: what a trained model sees in a picture.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>
#include <numeric>
#include <unistd.h>

#include "cli/picture.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/data/augment.h"
#include "weft/train/forward_step.h"
#include "weft/train/trained_model.h"

namespace weft::cli {
namespace {

struct PredictArguments {
  std::string checkpoint;
  std::string image;
  std::string data;
  bool as_json = false;
};

struct Guess {
  std::string name;
  double probability;
};

// The picture in the size and channels that the model was trained on. Files may
// be of any size; models are not.
Image fitted_image(const std::string& path, const Shape& shape) {
  const MappedFile file(path);
  Image image = decode_image(file.bytes(), path, static_cast<int>(shape[2]));
  if (image.height == shape[0] && image.width == shape[1]) return image;
  return resize_image(image, shape[0], shape[1]);
}

std::vector<Guess> guess(TrainedModel& trained, const Image& image) {
  const Dataset& data = *trained.assembly.data.train;
  const Shape& shape = data.features()[0].type.shape;
  const Tensor input =
      Tensor::empty({DType::kF32, {1, shape[0], shape[1], shape[2]}});
  // The pixels are scaled as the training data was.
  ImageConverter(shape, data.pixel_scale())
      // Changes of images are for training.
      .convert(image.pixels.data(), {}, input.data<float>());
  const TrainRecipe& train = trained.recipe.train;
  PredictStep step(trained.model(), input.type(), train.dtype,
                   tagged_options(train));
  const Tensor probabilities = step.run(input);
  std::vector<Guess> guesses;
  for (std::int64_t i = 0; i < probabilities.size(); ++i) {
    guesses.push_back(
        {data.classes()[static_cast<std::size_t>(i)], probabilities.item(i)});
  }
  // The sort is stable, so equal guesses stand in the order of the classes.
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) {
                     return a.probability > b.probability;
                   });
  return guesses;
}

bool are_digits(const std::vector<std::string>& classes) {
  return std::all_of(classes.begin(), classes.end(), [](const auto& name) {
    return name.size() == 1 && name[0] >= '0' && name[0] <= '9';
  });
}

void print_guesses(const std::vector<Guess>& guesses, const char* kind) {
  fmt::print("{} {}   probability {:.4f}\n", kind, guesses[0].name,
             guesses[0].probability);
  // Three guesses show what it was between.
  for (std::size_t i = 1; i < std::min<std::size_t>(guesses.size(), 3); ++i) {
    // Less would be shown as zero.
    if (guesses[i].probability < 0.0001) break;
    fmt::print("      {}   probability {:.4f}\n", guesses[i].name,
               guesses[i].probability);
  }
}

void predict(const PredictArguments& arguments) {
  TrainedModel trained = load_trained(arguments.checkpoint, arguments.data);
  const Dataset& data = *trained.assembly.data.train;
  const Shape& shape = data.features()[0].type.shape;
  // Other models have no picture to look at: rows, tokens and trees.
  if (trained.assembly.task != TaskKind::kClassification || shape.rank() != 3) {
    throw Error(ErrorCode::kUnsupported, "predict",
                "the model '{}' does not look at images",
                trained.recipe.model.name)
        .hint("weft eval measures it on its data");
  }
  const Image image = fitted_image(arguments.image, shape);
  const std::vector<Guess> guesses = guess(trained, image);
  if (arguments.as_json) {
    Json classes = Json::object();
    for (const Guess& each : guesses) classes[each.name] = each.probability;
    print_json({{"image", arguments.image},
                {"class", guesses[0].name},
                {"probability", guesses[0].probability},
                {"classes", classes}});
    return;
  }
  // A file gets characters that any reader shows.
  const bool has_colour = is_terminal(STDOUT_FILENO);
  fmt::print("{}", draw_picture(image, has_colour, terminal_width()));
  print_guesses(guesses, are_digits(data.classes()) ? "digit" : "class");
}

}  // namespace

void add_predict(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("predict", "Say what a model sees in an image");
  auto arguments = std::make_shared<PredictArguments>();
  verb->add_option("CHECKPOINT", arguments->checkpoint,
                   "a .safetensors file, or the folder of a run")
      ->required();
  verb->add_option("IMAGE", arguments->image, "a PNG or JPEG file")->required();
  verb->add_option("--data", arguments->data, "folder of the data")
      ->type_name("DIR");
  verb->add_flag("--json", arguments->as_json, "print one JSON object");
  verb->callback([arguments] { predict(*arguments); });
}

}  // namespace weft::cli
