#include "weft/train/hooks/tensorboard.h"

#include <algorithm>
#include <cmath>

#include "weft/base/file.h"
#include "weft/train/tensorboard/summaries.h"
#include "weft/train/train_loop.h"

namespace weft {
namespace {

// Larger tables take the projector minutes to draw.
constexpr std::int64_t kMostPoints = 20000;

// "[optimizer]" and "lr = 0.1" of the canonical text as "optimizer.lr" and
// "0.1".
std::map<std::string, std::string> flat_recipe(const Recipe& recipe) {
  std::map<std::string, std::string> values;
  std::string section;
  const std::string text = to_toml(recipe);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t sign = line.find(" = ");
    if (line.starts_with('[')) {
      const std::size_t begin = line.find_first_not_of('[');
      section = line.substr(begin, line.find(']') - begin);
    } else if (sign != std::string::npos) {
      std::string value = line.substr(sign + 3);
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
      }
      values[section + "." + line.substr(0, sign)] = value;
    }
  }
  return values;
}

// Whatever the scale of its numbers, its least are black and its largest white.
Image image_of(const Tensor& batch, std::int64_t row) {
  const Shape& shape = batch.shape();
  Image image{shape[1], shape[2], shape[3], {}};
  const std::int64_t size = shape[1] * shape[2] * shape[3];
  double least = batch.item(row * size);
  double most = least;
  for (std::int64_t i = 0; i < size; ++i) {
    const double value = batch.item(row * size + i);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const double scale = most > least ? 255 / (most - least) : 0;
  for (std::int64_t i = 0; i < size; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(
        std::lround(scale * (batch.item(row * size + i) - least))));
  }
  return image;
}

bool is_image_batch(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  return tensor.dtype() == DType::kF32 && shape.rank() == 4 &&
         (shape[3] == 1 || shape[3] == 3);
}

bool is_distribution(const Tensor& tensor) {
  const bool is_floating =
      tensor.dtype() == DType::kF32 || tensor.dtype() == DType::kF64;
  return is_floating && tensor.size() > 1;
}

void add_scores(WireWriter& summary, const std::string& part,
                const Scores& scores) {
  for (const auto& [name, value] : scores.all()) {
    // Not every part is measured in every epoch.
    if (std::isfinite(value))
      add_scalar(summary, fmt::format("{}/{}", name, part), value);
  }
}

}  // namespace

bool shows_gradients(const Recipe& recipe) {
  const auto section = recipe.more.find("tensorboard");
  return section != recipe.more.end() && !recipe.privacy.is_on() &&
         !option<std::string>(section->second, "folder").empty() &&
         option<bool>(section->second, "gradients");
}

void TensorBoardHook::on_start(TrainLoop& loop) {
  if (!loop.worker().is_first()) return;
  // A run that goes on from a checkpoint tells later steps once more.
  file_.emplace(loop.recipe().log.folder / options_.folder,
                loop.steps_done() + 1);
  WireWriter summary;
  add_hyperparameters(summary, flat_recipe(loop.recipe()),
                      loop.recipe().log.folder);
  file_->add_summary(loop.steps_done(), summary);
  write_graph(loop);
  file_->flush();
}

void TensorBoardHook::write_graph(TrainLoop& loop) {
  const Function* function = loop.worker().function();
  if (function != nullptr) file_->add_graph(graph_def(*function));
}

void TensorBoardHook::on_batch(TrainLoop& loop) {
  if (!options_.with_gradients || !loop.is_last_of_epoch()) return;
  // All workers compute them, and the first has their sum.
  const std::vector<NamedTensor> gradients = loop.gradients();
  if (!file_) return;
  WireWriter summary;
  for (const auto& [name, tensor] : gradients) {
    if (is_distribution(tensor))
      add_histogram(summary, "gradient/" + name, tensor);
  }
  // The step is counted when it is done, and events are of steps that are.
  file_->add_summary(loop.steps_done() + 1, summary);
}

void TensorBoardHook::on_step(TrainLoop& loop) {
  if (!file_) return;
  write_images(loop);
  if (options_.every == 0 || loop.steps_done() % options_.every != 0) return;
  WireWriter summary;
  add_scores(summary, "step", loop.progress().train);
  add_scalar(summary, "speed/examples a second", loop.samples_per_s());
  file_->add_summary(loop.steps_done(), summary);
  // A run that is killed goes on behind its checkpoint, and does not tell again
  // what came before that.
  file_->flush();
}

void TensorBoardHook::write_images(TrainLoop& loop) {
  if (has_images_ || options_.images == 0) return;
  has_images_ = true;
  const std::vector<Tensor>& batch = loop.batch().tensors;
  if (batch.empty() || !is_image_batch(batch[0])) return;
  WireWriter summary;
  const std::int64_t count = std::min(options_.images, batch[0].shape()[0]);
  for (std::int64_t row = 0; row < count; ++row) {
    add_image(summary, fmt::format("batch/{}", row), image_of(batch[0], row));
  }
  file_->add_summary(loop.steps_done(), summary);
}

// This comes before the epoch is saved, since a run that is killed behind that
// would not tell it again.
void TensorBoardHook::on_measure(TrainLoop& loop) {
  if (!file_) return;
  const EpochMetrics& epoch = loop.epoch();
  WireWriter summary;
  add_scores(summary, "train", epoch.train);
  add_scores(summary, "held out", epoch.held_out);
  add_scalar(summary, "rate", epoch.lr);
  add_scalar(summary, "speed/examples a second", epoch.samples_per_s);
  if (options_.with_histograms) {
    for (const auto& [name, tensor] : loop.worker().state()) {
      if (is_distribution(tensor)) add_histogram(summary, name, tensor);
    }
  }
  if (epoch.step == loop.steps_in_all() || loop.is_ended())
    add_end_of_run(summary);
  file_->add_summary(epoch.step, summary);
  file_->flush();
  write_projector(loop);
}

// Tables of vectors, of words or nodes, as the projector reads them.
void TensorBoardHook::write_projector(TrainLoop& loop) {
  std::string config;
  const auto folder = loop.recipe().log.folder / options_.folder;
  for (const auto& [name, tensor] : loop.worker().state()) {
    const bool is_table =
        name.find("embedding") != std::string::npos &&
        !name.starts_with("optimizer.") && tensor.dtype() == DType::kF32 &&
        tensor.shape().rank() == 2 && tensor.shape()[0] <= kMostPoints;
    if (!is_table) continue;
    std::string rows;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const bool is_last = (i + 1) % tensor.shape()[1] == 0;
      rows += fmt::format("{:.6g}{}", tensor.item(i), is_last ? '\n' : '\t');
    }
    write_file(folder / (name + ".tsv"), rows);
    config += fmt::format(
        "embeddings {{\n  tensor_name: \"{}\"\n  tensor_path: \"{}.tsv\"\n}}\n",
        name, name);
  }
  if (!config.empty()) write_file(folder / "projector_config.pbtxt", config);
}

}  // namespace weft
