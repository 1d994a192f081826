#include "weft/train/recipe.h"

#include <algorithm>

#include "weft/base/file.h"
#include "weft/nn/model.h"
#include "weft/optim/groups.h"
#include "weft/optim/wrapper.h"
#include "weft/train/recipe_section.h"
#include "weft/train/step/training_data.h"
#include "weft/train/step/training_task.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/network.h"
#include "weft/train/sync/policy.h"

namespace weft {
namespace {

// A recipe is written by hand; more than this is something else.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
// A larger count is a mistake. With this bound, epochs times their batches stay
// within 64 bits for fewer than 2^23 batches.
constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr NumberRange kPositive{.is_open_below = true};

toml::table parse_toml(std::string_view text, std::string_view where) {
  try {
    return toml::parse(text, where);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}", where, error.source().begin.line,
                            error.source().begin.column),
                std::string(error.description()));
  }
}

Error bad_override(std::string message, const std::string& override) {
  return Error(ErrorCode::kInvalidArgument, std::string(), std::move(message))
      .detail("in: command line, --set " + override);
}

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// {"value" = …}: as TOML where it is some, else as a string, so that
// --set train.dtype=bf16 needs no quotes within quotes.
toml::table parse_override_value(const std::string& text,
                                 const std::string& override) {
  // Text that begins so was meant as TOML: a mistake in it is told, and not
  // taken for a string.
  const bool is_quoted =
      !text.empty() &&
      std::string_view("\"'[{").find(text[0]) != std::string_view::npos;
  try {
    toml::table parsed = toml::parse("value = " + text);
    const toml::node* value = parsed.get("value");
    // A line break in the text could add further keys; dates are no values of
    // recipes, and may be names.
    if (parsed.size() == 1 && !value->is_date() && !value->is_time() &&
        !value->is_date_time()) {
      return parsed;
    }
  } catch (const toml::parse_error& error) {
    if (is_quoted) {
      throw bad_override(std::string(error.description()), override);
    }
  }
  return toml::table{{"value", text}};
}

void apply_override(toml::table& root, const std::string& override,
                    RecipeSource& source) {
  const std::size_t equals = override.find('=');
  if (equals == std::string::npos) {
    throw bad_override("an override is written key=value", override);
  }
  const std::string path = override.substr(0, equals);
  const toml::table parsed =
      parse_override_value(override.substr(equals + 1), override);

  toml::table* table = &root;
  std::string_view rest = path;
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view key = rest.substr(0, dot);
    if (!is_bare_key(key)) {
      throw bad_override(fmt::format("'{}' is not a key", path), override);
    }
    if (dot == std::string_view::npos) {
      parsed.get("value")->visit(
          [&](const auto& value) { table->insert_or_assign(key, value); });
      break;
    }
    // A table that is made here has no line in a file, by which RecipeSource
    // knows it.
    if (!table->contains(key)) table->insert(key, toml::table{});
    toml::node* inner = table->get(key);
    if (!inner->is_table()) {
      const auto end =
          static_cast<std::size_t>(key.data() + key.size() - path.data());
      throw bad_override(
          fmt::format("{} is {}, not a table", path.substr(0, end),
                      describe_type(*inner)),
          override);
    }
    table = inner->as_table();
    rest.remove_prefix(dot + 1);
  }
  source.add_override(path, override);
}

// Runs `body`; what it refuses happened at `key`.
template <class Body>
decltype(auto) blame(const RecipeSection& section, const char* key,
                     Body&& body) {
  try {
    return body();
  } catch (Error& error) {
    error.detail("in: " + section.place_of(key));
    throw;
  }
}

ModelRecipe read_model(const toml::table* table, const RecipeSource& source) {
  RecipeSection section(table, "model", source);
  ModelRecipe model;
  section.read("name", model.name);
  section.require("name", model.name);
  // The model declares its options: until its name is known, no key of the
  // section can be called unknown.
  const ModelDef& def = blame(section, "name", [&]() -> const ModelDef& {
    return model_registry().get(model.name);
  });
  model.options = section.read_options(def.options);
  section.refuse_unknown();
  return model;
}

TaskRecipe read_task(const toml::table* table, const RecipeSource& source,
                     const ModelRecipe& model) {
  RecipeSection section(table, "task", source);
  TaskRecipe task;
  task.name = model_registry().get(model.name).task;
  section.read("name", task.name);
  const TrainingTaskDef& def =
      blame(section, "name", [&]() -> const TrainingTaskDef& {
        return training_task_registry().get(task.name);
      });
  task.options = section.read_options(def.options);
  section.refuse_unknown();
  blame(section, "", [&] { def.make(task.options); });
  return task;
}

DataRecipe read_data(const toml::table* table, const RecipeSource& source,
                     const TaskRecipe& task) {
  RecipeSection section(table, "data", source);
  DataRecipe data;
  data.source = training_task_registry().get(task.name).source;
  section.read("source", data.source);
  const BatchSourceDef& def =
      blame(section, "source", [&]() -> const BatchSourceDef& {
        return batch_source_registry().get(data.source);
      });
  section.read("name", data.name);
  section.read("folder", data.folder);
  std::vector<std::string> augment;
  section.read("augment", augment);
  if (data.name.empty()) section.refuse_unknown();
  section.require("name", data.name);
  data.options = section.read_options(
      blame(section, "name", [&] { return def.options(data.name); }));
  section.refuse_unknown();
  for (const auto& what : augment) {
    if (what == "crop") {
      data.augment.crop = true;
    } else if (what == "flip") {
      data.augment.flip = true;
    } else {
      throw section
          .error("augment", section.find("augment"),
                 fmt::format("data.augment: '{}' is not known", what))
          .detail("known: crop, flip");
    }
  }
  return data;
}

Schedule read_lr(RecipeSection& optimizer, double fallback,
                 const RecipeSource& source) {
  Schedule lr;
  lr.from = fallback;
  const toml::node* node = optimizer.find("lr");
  // A number alone stands for a constant rate.
  if (node == nullptr || node->is_number()) {
    optimizer.read("lr", lr.from, kPositive);
    return lr;
  }
  RecipeSection section(optimizer.find_table("lr"), "optimizer.lr", source);
  std::string kind = "constant";
  section.read_choice("schedule", kind,
                      {"constant", "cosine", "linear", "step"});
  lr.kind = schedule_kind(kind);
  section.read("from", lr.from, kPositive);
  section.read("warmup", lr.warmup, 0, kMost);
  // Keys of the other schedules are not asked for, and so are refused: a `to`
  // beside a constant rate is a mistake.
  if (kind == "cosine" || kind == "linear") {
    section.read("to", lr.to);
  } else if (kind == "step") {
    section.read("factor", lr.factor, kPositive);
    section.read("every", lr.every, 1, kMost);
  }
  section.refuse_unknown();
  return lr;
}

// `rest` are the settings of all parameters that are in no group.
GroupRecipe read_group(const toml::table* table, std::string path,
                       const OptimizerRecipe& rest,
                       const RecipeSource& source) {
  RecipeSection section(table, std::move(path), source);
  GroupRecipe group;
  section.read("parameters", group.parameters);
  section.require("parameters", group.parameters);
  section.read("frozen", group.is_frozen);
  // What is frozen has no rate and no optimizer: keys of these are refused.
  if (!group.is_frozen) {
    section.read("lr_scale", group.lr_scale, kPositive);
    group.name = rest.name;
    section.read("name", group.name);
    const OptimizerDef& def =
        blame(section, "name", [&]() -> const OptimizerDef& {
          return optimizer_registry().get(group.name);
        });
    std::vector<OptionSpec> schema = def.options;
    if (group.name == rest.name) {
      // A group says only what is different.
      for (OptionSpec& spec : schema) spec.value = rest.options.at(spec.name);
    }
    group.options = section.read_options(schema);
    blame(section, "", [&] { def.make(group.options); });
  }
  section.refuse_unknown();
  return group;
}

OptimizerRecipe read_optimizer(const toml::table* table,
                               const RecipeSource& source) {
  RecipeSection section(table, "optimizer", source);
  OptimizerRecipe optimizer;
  section.read("name", optimizer.name);
  section.require("name", optimizer.name);
  const OptimizerDef& def =
      blame(section, "name", [&]() -> const OptimizerDef& {
        return optimizer_registry().get(optimizer.name);
      });
  optimizer.lr = read_lr(section, def.default_lr, source);
  section.read("clip_norm", optimizer.clip_norm, kPositive);
  section.read("wrap", optimizer.wrap);
  const auto groups = section.find_tables("groups");
  optimizer.options = section.read_options(def.options);
  section.refuse_unknown();
  // The optimizer knows the ranges of its options; they depend on each other.
  blame(section, "", [&] { def.make(optimizer.options); });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    optimizer.groups.push_back(read_group(
        groups[i], fmt::format("optimizer.groups.{}", i), optimizer, source));
  }
  blame(section, "wrap", [&] { make_optimizer(optimizer); });
  return optimizer;
}

TrainRecipe read_train(const toml::table* table, const RecipeSource& source) {
  RecipeSection section(table, "train", source);
  TrainRecipe train;
  section.read("epochs", train.epochs, 1, kMost);
  // Up to 2^24 hits of a batch are counted exactly in f32 (objective.cpp).
  section.read("batch", train.batch, 1, std::int64_t{1} << 24);
  std::string dtype(to_string(train.dtype));
  section.read_choice("dtype", dtype, {"f32", "bf16"});
  train.dtype = *dtype_from_string(dtype);
  section.read("seed", train.seed, 0);
  section.read("eval_every", train.eval_every, 1, kMost);
  section.read("checkpoint_every", train.checkpoint_every, 0, kMost);
  section.read("patience", train.patience, 0, kMost);
  section.read("max_steps", train.max_steps, 0, kMost);
  section.read("steps", train.steps, 1, std::int64_t{1} << 20);
  section.read("drop_last", train.drop_last);
  section.read("check_numerics", train.check_numerics);
  section.read("max_frames", train.max_frames, 1);
  section.read("recursion_workers", train.recursion_workers, 0, 4096);
  section.read_choice("batching", train.batching, {"auto", "always", "never"});
  section.refuse_unknown();
  return train;
}

// Momentum before the selection and after it would be applied twice.
void refuse_momentum_twice(const SyncRecipe& sync,
                           const OptimizerRecipe& optimizer) {
  if (sync.momentum_correction == 0) return;
  if (!make_optimizer(optimizer)->has_momentum()) return;
  throw Error(ErrorCode::kInvalidArgument, "sync",
              "momentum_correction is momentum before entries are picked, and "
              "optimizer '{}' has momentum of its own",
              optimizer.name)
      .hint("optimizer.name = \"sgd\", or leave momentum_correction out");
}

void refuse_partial_view(const SyncPolicyDef& policy,
                         const OptimizerRecipe& optimizer) {
  if (policy.updates_whole_model ||
      !make_optimizer(optimizer)->sees_all_parameters()) {
    return;
  }
  throw Error(ErrorCode::kInvalidArgument, "sync",
              "optimizer '{}' looks at all gradients together, and with policy "
              "'{}' each worker updates a part of the model",
              optimizer.name, policy.name)
      .hint("sync.policy = \"allreduce\"");
}

SyncRecipe read_sync(const toml::table* table, const RecipeSource& source,
                     const OptimizerRecipe& optimizer) {
  RecipeSection section(table, "sync", source);
  SyncRecipe sync;
  section.read("policy", sync.policy);
  section.read("sparsify", sync.sparsify);
  section.read("codec", sync.codec);
  section.read("collective", sync.collective);
  section.read("topology", sync.topology);
  section.read("bucket_bytes", sync.bucket_bytes, 4, kMost);
  section.read("overlap", sync.overlap);
  section.read("momentum_correction", sync.momentum_correction,
               {.most = 1, .is_open_above = true});
  section.read_choice("memory", sync.memory, {"gradients", "updates", "none"});
  section.read("warmup_epochs", sync.warmup_epochs, 0, kMost);
  // The default depends on the codec, which has been checked only further down.
  const bool has_min_elements = section.find("min_elements") != nullptr;
  section.read("min_elements", sync.min_elements, 0, kMost);
  section.read("measure_every", sync.measure_every, 0, kMost);
  section.read("timeout", sync.timeout, kPositive);
  section.refuse_unknown();
  // From here on the recipe holds the network itself, and not the name of a
  // file that other machines may not have.
  sync.topology =
      blame(section, "topology", [&] { return topology_text(sync.topology); });
  const SyncPolicyDef& policy =
      blame(section, "policy", [&]() -> const SyncPolicyDef& {
        return sync_policy_registry().get(sync.policy);
      });
  blame(section, "codec", [&] { policy.check(sync); });
  blame(section, "policy", [&] { refuse_partial_view(policy, optimizer); });
  if (!has_min_elements) sync.min_elements = default_min_elements(sync);
  blame(section, "momentum_correction",
        [&] { refuse_momentum_twice(sync, optimizer); });
  return sync;
}

LogRecipe read_log(const toml::table* table, const RecipeSource& source) {
  RecipeSection section(table, "log", source);
  LogRecipe log;
  section.read("folder", log.folder);
  section.refuse_unknown();
  return log;
}

Recipe read_recipe(const toml::table& root, const RecipeSource& source) {
  RecipeSection sections(&root, "", source);
  const toml::table empty;
  const auto find = [&](const char* name) {
    const toml::table* table = sections.find_table(name);
    return table == nullptr ? &empty : table;
  };
  const toml::table* model = find("model");
  const toml::table* task = find("task");
  const toml::table* data = find("data");
  const toml::table* optimizer = find("optimizer");
  const toml::table* train = find("train");
  const toml::table* sync = find("sync");
  const toml::table* log = find("log");
  // A section that is mistyped is told before what the others lack.
  sections.refuse_unknown();
  Recipe recipe;
  recipe.model = read_model(model, source);
  recipe.task = read_task(task, source, recipe.model);
  recipe.data = read_data(data, source, recipe.task);
  recipe.optimizer = read_optimizer(optimizer, source);
  recipe.train = read_train(train, source);
  // The optimizer comes before: momentum must not be applied by both.
  recipe.sync = read_sync(sync, source, recipe.optimizer);
  recipe.log = read_log(log, source);
  return recipe;
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerRecipe& recipe) {
  std::vector<ParameterGroup> groups;
  for (const GroupRecipe& group : recipe.groups) {
    // Frozen ones are no trainable parameters (assembly.h).
    if (group.is_frozen) continue;
    groups.push_back({group.parameters, group.lr_scale,
                      make_optimizer(group.name, group.options)});
  }
  return wrap_optimizer(
      group_optimizers(make_optimizer(recipe.name, recipe.options),
                       std::move(groups)),
      recipe.wrap);
}

Recipe parse_recipe(std::string_view text, std::string_view where,
                    std::span<const std::string> overrides) {
  toml::table root = parse_toml(text, where);
  RecipeSource source(where);
  for (const auto& override : overrides) {
    // Overrides go into the table before it is read, so that they are checked
    // as what stands in the file is.
    apply_override(root, override, source);
  }
  return read_recipe(root, source);
}

Recipe load_recipe(const std::filesystem::path& path,
                   std::span<const std::string> overrides) {
  Recipe recipe =
      parse_recipe(read_text(path, kMostBytes), path.string(), overrides);
  if (recipe.log.folder.empty()) {
    recipe.log.folder = "runs/" + path.stem().string();
  }
  return recipe;
}

}  // namespace weft
