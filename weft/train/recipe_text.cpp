// The canonical text of a recipe.
#include "weft/train/recipe.h"

namespace weft {
namespace {

std::string text_of(bool value) { return value ? "true" : "false"; }

std::string text_of(std::int64_t value) { return std::to_string(value); }

// The shortest digits that read back as the same double; always a TOML float.
std::string text_of(double value) {
  std::string text = fmt::format("{}", value);
  // An 'e' marks an exponent, and an 'n' is in inf and nan: these are floats of
  // TOML already.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string text_of(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
      // TOML allows no control characters in strings.
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\u{:04X}", byte);
    } else {
      text += c;
    }
  }
  return text + '"';
}

template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text;
  for (const auto& value : values) {
    text += (text.empty() ? "" : ", ") + text_of(value);
  }
  return "[" + text + "]";
}

std::string text_of(const OptionValue& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
}

// Only the keys of its kind are written, as the reader refuses the others.
std::string text_of(const Schedule& lr) {
  const std::string from = text_of(lr.from);
  const std::string to = text_of(lr.to);
  std::string text;
  switch (lr.kind) {
    case Schedule::Kind::kConstant:
      text = fmt::format("schedule = \"constant\", from = {}", from);
      break;
    case Schedule::Kind::kStep:
      text =
          fmt::format("schedule = \"step\", from = {}, factor = {}, every = {}",
                      from, text_of(lr.factor), lr.every);
      break;
    case Schedule::Kind::kLinear:
      text = fmt::format("schedule = \"linear\", from = {}, to = {}", from, to);
      break;
    case Schedule::Kind::kCosine:
      text = fmt::format("schedule = \"cosine\", from = {}, to = {}", from, to);
      break;
  }
  return fmt::format("{{ {}, warmup = {} }}", text, lr.warmup);
}

class Writer {
 public:
  void section(const char* name) {
    if (!text_.empty()) text_ += '\n';
    text_ += fmt::format("[{}]\n", name);
  }
  // The next element of a list of tables.
  void element(const char* name) { text_ += fmt::format("\n[[{}]]\n", name); }
  template <class T>
  void key(const std::string& name, const T& value) {
    text_ += fmt::format("{} = {}\n", name, text_of(value));
  }
  // TOML has no null: what is not set has no key.
  void key(const std::string& name, const std::optional<double>& value) {
    if (value) key(name, *value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::vector<std::string> augment_names(const Augmentation& augment) {
  std::vector<std::string> names;
  if (augment.crop) names.push_back("crop");
  if (augment.flip) names.push_back("flip");
  return names;
}

}  // namespace

// Keys are written whether they were given or not, so that the recipe in a
// checkpoint keeps its meaning if a default changes.
std::string to_toml(const Recipe& recipe) {
  Writer out;
  out.section("model");
  out.key("name", recipe.model.name);
  for (const auto& [name, value] : recipe.model.options) out.key(name, value);

  out.section("task");
  out.key("name", recipe.task.name);
  for (const auto& [name, value] : recipe.task.options) out.key(name, value);

  out.section("data");
  out.key("name", recipe.data.name);
  out.key("source", recipe.data.source);
  // An empty folder means that each machine looks for itself (data/fetch.h).
  if (!recipe.data.folder.empty()) out.key("folder", recipe.data.folder);
  out.key("augment", augment_names(recipe.data.augment));
  for (const auto& [name, value] : recipe.data.options) out.key(name, value);

  const OptimizerRecipe& optimizer = recipe.optimizer;
  out.section("optimizer");
  out.key("name", optimizer.name);
  out.key("lr", optimizer.lr);
  out.key("clip_norm", optimizer.clip_norm);
  out.key("wrap", optimizer.wrap);
  for (const auto& [name, value] : optimizer.options) out.key(name, value);
  for (const GroupRecipe& group : optimizer.groups) {
    out.element("optimizer.groups");
    out.key("parameters", group.parameters);
    out.key("frozen", group.is_frozen);
    if (group.is_frozen) continue;
    out.key("lr_scale", group.lr_scale);
    out.key("name", group.name);
    for (const auto& [name, value] : group.options) out.key(name, value);
  }

  const TrainRecipe& train = recipe.train;
  out.section("train");
  out.key("epochs", train.epochs);
  out.key("batch", train.batch);
  out.key("dtype", std::string(to_string(train.dtype)));
  out.key("seed", train.seed);
  out.key("eval_every", train.eval_every);
  out.key("checkpoint_every", train.checkpoint_every);
  out.key("patience", train.patience);
  out.key("max_steps", train.max_steps);
  out.key("steps", train.steps);
  out.key("drop_last", train.drop_last);
  out.key("check_numerics", train.check_numerics);
  out.key("max_frames", train.max_frames);
  out.key("recursion_workers", train.recursion_workers);
  out.key("batching", train.batching);

  const SyncRecipe& sync = recipe.sync;
  out.section("sync");
  out.key("policy", sync.policy);
  out.key("sparsify", sync.sparsify);
  out.key("codec", sync.codec);
  out.key("collective", sync.collective);
  out.key("topology", sync.topology);
  out.key("bucket_bytes", sync.bucket_bytes);
  out.key("overlap", sync.overlap);
  out.key("momentum_correction", sync.momentum_correction);
  out.key("memory", sync.memory);
  out.key("warmup_epochs", sync.warmup_epochs);
  out.key("min_elements", sync.min_elements);
  out.key("measure_every", sync.measure_every);
  out.key("timeout", sync.timeout);

  out.section("log");
  out.key("folder", recipe.log.folder);
  return out.take();
}

}  // namespace weft
