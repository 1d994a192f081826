#include "weft/train/new_recipe.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

#include "weft/data/fetch.h"
#include "weft/data/picture_set.h"
#include "weft/data/table.h"
#include "weft/data/tar_samples.h"
#include "weft/train/assembly.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Some thousand steps show whether a model learns.
constexpr double kSteps = 3000;
// Larger pictures are scaled to what classics take.
constexpr std::int64_t kLargeSide = 224;
constexpr std::int64_t kSmallSide = 32;

// The parts of a recipe, each as its section has it.
struct Choice {
  std::string comment;
  std::string model;
  std::string task;
  std::string data;  // beside name and folder
  std::string optimizer;
  std::int64_t batch = 32;
  std::int64_t epochs = 10;
  std::string train;  // beside these
  std::vector<std::string> findings;
};

std::string toml_text(const std::string& text) {
  std::string written = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') written += '\\';
    written += c;
  }
  return written + "\"";
}

std::int64_t epochs_for(std::int64_t examples, std::int64_t batch) {
  const double steps =
      std::ceil(static_cast<double>(examples) / static_cast<double>(batch));
  return std::clamp(static_cast<std::int64_t>(std::ceil(kSteps / steps)),
                    std::int64_t{3}, std::int64_t{60});
}

// What is named comes before formats, as it says more; of sets whose files are
// called alike, the one that the folder is called as.
const DatasetDef& reader_of(const fs::path& data) {
  std::vector<const DatasetDef*> found;
  for (const DatasetDef& def : dataset_registry().all()) {
    if (def.is_in(data)) found.push_back(&def);
  }
  const std::string name = fs::weakly_canonical(data).filename().string();
  std::ranges::stable_sort(found, {}, [&](const DatasetDef* def) {
    // Any file may be a table of commas, so that others are asked before.
    return std::tuple(def->name != name, !def->is_named_set,
                      def->name == "csv" && data.extension() != ".csv");
  });
  if (!found.empty()) return *found[0];
  throw Error(ErrorCode::kUnavailable, data.string(),
              "holds no data that a reader knows")
      .hint(
          "a folder of PNG or JPEG files in a folder per class, or .tar shards "
          "of them; a .csv file with a header, a .parquet or a .jsonl file; "
          "tensors in .safetensors or .h5; a .txt file; weft data list says "
          "what else");
}

// So many pictures say how large most are.
constexpr std::size_t kMostLookedAt = 100;

std::vector<ImageHeader> headers_in_folder(const fs::path& folder) {
  std::vector<ImageHeader> headers;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (headers.size() == kMostLookedAt) break;
    if (!entry.is_regular_file() || !is_picture_name(entry.path())) continue;
    const MappedFile file(entry.path());
    headers.push_back(read_image_header(file.bytes(), entry.path().string()));
  }
  return headers;
}

std::vector<ImageHeader> headers_in_shard(const fs::path& data) {
  const fs::path shard =
      fs::is_directory(data) ? shards_of(data, "*.tar").front() : data;
  const MappedFile file(shard);
  std::vector<ImageHeader> headers;
  for (const TarMember& member : read_tar(file.bytes(), shard.string())) {
    if (headers.size() == kMostLookedAt) break;
    if (!is_picture_name(member.name)) continue;
    headers.push_back(read_image_header(member.bytes, member.name));
  }
  return headers;
}

// The size that pictures are scaled to; 0 where they have one already.
ImageHeader usual_size(const std::vector<ImageHeader>& headers) {
  const bool are_alike = std::ranges::all_of(headers, [&](const auto& header) {
    return header.height == headers[0].height &&
           header.width == headers[0].width;
  });
  if (are_alike) return {};
  const std::int64_t side =
      std::min(headers[0].height, headers[0].width) < 2 * kSmallSide
          ? kSmallSide
          : kLargeSide;
  return {.height = side, .width = side};
}

void choose_for_images(const DatasetSplits& splits, Choice& choice) {
  const Shape& shape = splits.train->features()[0].type.shape;
  const std::int64_t side = std::max(shape[0], shape[1]);
  const bool is_grey = shape[2] == 1;
  choice.batch = splits.train->size() >= 5000 ? 128 : 32;
  choice.optimizer =
      "name = \"adamw\"\nlr = \"cosine(from=0.002, to=0.00001)\"\n"
      "weight_decay = 1e-3\n";
  if (side <= 12) {
    choice.model = "digits-cnn";
  } else if (is_grey && side <= kSmallSide) {
    choice.model = "mnist-cnn";
  } else {
    choice.model = side <= 2 * kSmallSide ? "resnet20" : "resnet18";
  }
  choice.model = "name = " + toml_text(choice.model) + "\n";
  if (!is_grey) {
    choice.data += fmt::format(
        "# Training pictures are moved and mirrored; leave \"flip\" out where "
        "left and\n# right mean something.\naugment = [\"crop(padding={})\", "
        "\"flip\"]\n",
        std::max<std::int64_t>(1, side / 8));
  }
  choice.findings.push_back(fmt::format(
      "{} pictures of {} x {}, {}, in {} classes", splits.train->size(),
      shape[0], shape[1], is_grey ? "grey" : "coloured",
      splits.train->classes().size()));
}

void choose_for_table(const DatasetSplits& splits, Choice& choice) {
  const Dataset& data = *splits.train;
  const TableSchema& table = *data.table();
  const std::size_t categories = data.category_counts().size();
  choice.batch = data.size() >= 5000 ? 128 : 32;
  choice.optimizer =
      "name = \"adamw\"\nlr = \"cosine(from=0.002, to=0.00001)\"\n"
      "weight_decay = 1e-3\n";
  choice.model = "name = \"mlp\"\nhidden = [128, 64]\n";
  if (categories > 0) choice.model += "embedding = 8\n";
  const bool has_several = data.features()[1].type.shape.rank() > 0;
  const char* task = "classification";
  if (has_several) {
    task = "multi-label";
  } else if (data.classes().empty()) {
    task = "regression";
  } else if (data.classes().size() == 2) {
    task = "binary";
  }
  choice.task = fmt::format("name = \"{}\"\n", task);
  if (data.classes().empty()) {
    choice.task += "loss = \"huber\"  # outliers count less\n";
  }
  choice.data += fmt::format(
      "label = {}  # what is to be told\n",
      toml_text(fmt::format("{}", fmt::join(table.label_columns, ","))));
  choice.findings.push_back(
      fmt::format("{} rows of {} columns, {} of them categories", data.size(),
                  table.columns.columns().size(), categories));
  choice.findings.push_back(fmt::format(
      "to be told: {}{}", fmt::join(table.label_columns, ", "),
      data.classes().empty()
          ? ", a number"
          : fmt::format(", one of {}", fmt::join(data.classes(), ", "))));
}

// Examples of numbers that somebody has prepared already.
void choose_for_numbers(const DatasetSplits& splits, Choice& choice) {
  const Dataset& data = *splits.train;
  choice.batch = data.size() >= 5000 ? 128 : 32;
  choice.optimizer =
      "name = \"adamw\"\nlr = \"cosine(from=0.002, to=0.00001)\"\n"
      "weight_decay = 1e-3\n";
  choice.model = "name = \"mlp\"\nhidden = [128, 64]\n";
  const std::size_t classes = data.classes().size();
  choice.task =
      fmt::format("name = \"{}\"\n", classes == 0   ? "regression"
                                     : classes == 2 ? "binary"
                                                    : "classification");
  choice.findings.push_back(fmt::format(
      "{} examples of {} numbers, and what is to be told of each: {}",
      data.size(), data.features()[0].type.shape[0],
      classes == 0 ? "a number" : fmt::format("one of {} classes", classes)));
}

bool are_numbers(const Dataset& data) {
  return data.features().size() == 2 &&
         data.features()[0].type.dtype == DType::kF32 &&
         data.features()[0].type.shape.rank() == 1 &&
         data.features()[1].type.shape.rank() == 0;
}

// A text of `words` is read in several places at once, and so is what is held
// out of it, the smallest part.
void choose_for_text(const DatasetSplits& splits, Choice& choice) {
  const auto different = splits.train->classes().size();
  const bool are_characters = different <= 256;
  const std::int64_t held_out = std::min(
      splits.test->size(), (splits.valid ? splits.valid : splits.test)->size());
  std::int64_t steps = are_characters ? 64 : 35;
  choice.batch = std::min<std::int64_t>(32, held_out / (steps + 1));
  if (choice.batch < 4) {
    steps = std::clamp<std::int64_t>(held_out / 5, 1, 16);
    choice.batch = std::clamp<std::int64_t>(held_out / (steps + 1), 1, 4);
  }
  choice.model = fmt::format("name = \"lstm-lm\"\nhidden = {}\nlayers = 2\n",
                             are_characters ? 128 : 256);
  choice.task = "name = \"language-model\"\n";
  choice.optimizer =
      "name = \"adam\"\nlr = \"cosine(from=0.003, to=0.0001)\"\n"
      "clip_norm = 1.0\n";
  const char* unit = are_characters ? "characters" : "words";
  choice.train = fmt::format("steps = {}  # {} that are learned from at once\n",
                             steps, unit);
  choice.findings.push_back(
      fmt::format("{} {} of running text, {} different ones",
                  splits.train->size(), unit, different));
  choice.epochs = epochs_for(splits.train->size() / steps, choice.batch);
}

std::string text_of(const Choice& choice, const std::string& reader,
                    const fs::path& folder) {
  std::string text = "# Written by weft new, after looking at the data: ";
  text += choice.findings[0] + ".\n";
  text += "[model]\n" + choice.model;
  if (!choice.task.empty()) text += "\n[task]\n" + choice.task;
  text += fmt::format("\n[data]\nname = \"{}\"\nfolder = {}\n{}", reader,
                      toml_text(fs::absolute(folder).string()), choice.data);
  text += "\n[optimizer]\n" + choice.optimizer;
  text += fmt::format("\n[train]\nepochs = {}\nbatch = {}\n{}seed = 1\n",
                      choice.epochs, choice.batch, choice.train);
  return text;
}

}  // namespace

NewRecipe new_recipe(const fs::path& data) {
  std::error_code ignored;
  if (!fs::exists(data, ignored)) {
    throw Error(ErrorCode::kUnavailable, data.string(), "is not there");
  }
  const DatasetDef& def = reader_of(data);
  Choice choice;
  // Examples of running text are single words while it is looked at.
  DataRequest request{.name = def.name, .folder = data, .batch = 1, .steps = 1};
  if (def.name == "image_folder" || def.name == "tar") {
    const ImageHeader size = usual_size(
        def.name == "tar" ? headers_in_shard(data) : headers_in_folder(data));
    if (size.height > 0) {
      request.options = {{"height", size.height}, {"width", size.width}};
      choice.data = fmt::format(
          "# Pictures have several sizes, and are scaled to this one.\n"
          "height = {}\nwidth = {}\n",
          size.height, size.width);
    }
  }
  const DatasetSplits splits = open_data(request);
  const Dataset& train = *splits.train;
  if (train.table() != nullptr) {
    choose_for_table(splits, choice);
  } else if (train.features()[0].type.shape.rank() == 3) {
    choose_for_images(splits, choice);
  } else if (are_numbers(train)) {
    choose_for_numbers(splits, choice);
  } else if (train.is_sequential()) {
    choose_for_text(splits, choice);
  } else {
    throw Error(ErrorCode::kUnsupported, data.string(),
                "'{}' is data for which there is more than one usual model",
                def.name)
        .hint("recipes/ has one for each kind; docs/recipes.md says what fits");
  }
  if (!train.is_sequential()) {
    choice.epochs = epochs_for(train.size(), choice.batch);
  }
  NewRecipe result{text_of(choice, def.name, data), choice.findings};
  // Whoever gets it should not be the first to read it.
  const Recipe recipe = parse_recipe(result.text, "new recipe");
  const Assembly assembly = assemble(recipe);
  result.findings.push_back(fmt::format(
      "model {}, {} parameters; {} epochs in batches of {}", recipe.model.name,
      assembly.model->parameter_count(), choice.epochs, choice.batch));
  return result;
}

}  // namespace weft
