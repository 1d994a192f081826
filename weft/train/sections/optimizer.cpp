#include "weft/optim/groups.h"
#include "weft/optim/wrapper.h"
#include "weft/train/recipe/entries.h"

namespace weft {
namespace {

const OptionSpec kOptimizerName{"name", std::string(), "of the optimizer"};
const OptionSpec kLr{
    "lr", 0.01,
    "the learning rate: a number, or a table with the keys of a "
    "schedule; the optimizer's own if it is not given",
    kPositive};
const OptionSpec kClipNorm{
    "clip_norm",
    0.0,
    "the largest norm of all gradients together; 0: they "
    "are not clipped",
    {.least = 0}};
const OptionSpec kWrap{"wrap", std::vector<std::string>(),
                       "what stands around the optimizer, the first one "
                       "innermost: \"lookahead(steps=5)\", …"};

// Only the keys of its kind are written, as the reader refuses the others.
std::string lr_text(const Schedule& lr) {
  const std::string from = toml_text(lr.from);
  const std::string to = toml_text(lr.to);
  std::string text;
  switch (lr.kind) {
    case Schedule::Kind::kConstant:
      text = fmt::format("schedule = \"constant\", from = {}", from);
      break;
    case Schedule::Kind::kStep:
      text =
          fmt::format("schedule = \"step\", from = {}, factor = {}, every = {}",
                      from, toml_text(lr.factor), lr.every);
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

Schedule read_lr(SectionReader& optimizer, double fallback) {
  Schedule lr;
  OptionSpec constant = kLr;
  constant.value = fallback;
  const toml::node* node = optimizer.find("lr");
  // A number alone stands for a constant rate.
  if (node == nullptr || node->is_number()) {
    lr.from = std::get<double>(optimizer.read(constant));
    return lr;
  }
  SectionReader section =
      optimizer.inner(optimizer.find_table("lr"), "optimizer.lr");
  const auto number = [&](const char* name, double value, NumberRange range) {
    return std::get<double>(section.read(
        {.name = name, .value = value, .summary = "", .range = range}));
  };
  const auto count = [&](const char* name, std::int64_t value, double least) {
    return std::get<std::int64_t>(
        section.read({.name = name,
                      .value = value,
                      .summary = "",
                      .range = {.least = least, .most = kMostCount}}));
  };
  const auto kind = std::get<std::string>(
      section.read({.name = "schedule",
                    .value = std::string("constant"),
                    .summary = "",
                    .choices = {"constant", "cosine", "linear", "step"}}));
  lr.kind = schedule_kind(kind);
  lr.from = number("from", fallback, kPositive);
  lr.warmup = count("warmup", lr.warmup, 0);
  // Keys of the other schedules are not asked for, and so are refused: a `to`
  // beside a constant rate is a mistake.
  if (kind == "cosine" || kind == "linear") {
    lr.to = number("to", lr.to, {.least = 0});
  } else if (kind == "step") {
    lr.factor = number("factor", lr.factor, kPositive);
    lr.every = count("every", lr.every, 1);
  }
  section.refuse_unknown();
  return lr;
}

// `rest` are the settings of all parameters that are in no group.
GroupRecipe read_group(SectionReader section, const OptimizerRecipe& rest) {
  GroupRecipe group;
  group.parameters = section.require_text("parameters");
  group.is_frozen = std::get<bool>(
      section.read({.name = "frozen", .value = false, .summary = ""}));
  // What is frozen has no rate and no optimizer: keys of these are refused.
  if (!group.is_frozen) {
    group.lr_scale = std::get<double>(section.read({.name = "lr_scale",
                                                    .value = group.lr_scale,
                                                    .summary = "",
                                                    .range = kPositive}));
    group.name = rest.name;
    const OptimizerDef& def =
        read_entry(section, optimizer_registry(), group.name);
    std::vector<OptionSpec> schema = def.options;
    if (group.name == rest.name) {
      // A group says only what is different.
      for (OptionSpec& spec : schema) spec.value = rest.options.at(spec.name);
    }
    group.options = section.read_options(schema);
    section.blame("", [&] { def.make(group.options); });
  }
  section.refuse_unknown();
  return group;
}

void read_optimizer(SectionReader& section, Recipe& recipe) {
  OptimizerRecipe& optimizer = recipe.optimizer;
  const OptimizerDef& def =
      read_entry(section, optimizer_registry(), optimizer.name);
  optimizer.lr = read_lr(section, def.default_lr);
  optimizer.clip_norm = std::get<double>(section.read(kClipNorm));
  optimizer.wrap = std::get<std::vector<std::string>>(section.read(kWrap));
  const auto groups = section.find_tables("groups");
  optimizer.options = section.read_options(def.options);
  section.refuse_unknown();
  // The optimizer knows the ranges of its options; they depend on each other.
  section.blame("", [&] { def.make(optimizer.options); });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    optimizer.groups.push_back(read_group(
        section.inner(groups[i], fmt::format("optimizer.groups.{}", i)),
        optimizer));
  }
  section.blame("wrap", [&] { make_optimizer(optimizer); });
}

void write_optimizer(const Recipe& recipe, RecipeWriter& out) {
  const OptimizerRecipe& optimizer = recipe.optimizer;
  out.key("name", optimizer.name);
  out.raw("lr", lr_text(optimizer.lr));
  out.key("clip_norm", optimizer.clip_norm);
  out.key("wrap", optimizer.wrap);
  out.options(optimizer.options);
  for (const GroupRecipe& group : optimizer.groups) {
    out.element("optimizer.groups");
    out.key("parameters", group.parameters);
    out.key("frozen", group.is_frozen);
    if (group.is_frozen) continue;
    out.key("lr_scale", group.lr_scale);
    out.key("name", group.name);
    out.options(group.options);
  }
}

}  // namespace

void register_recipe_section_optimizer(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "optimizer",
       .summary = "how parameters change; [[optimizer.groups]] are parameters "
                  "that are trained in another way than the rest",
       .place = 40,
       .options = {kOptimizerName, kLr, kClipNorm, kWrap},
       .entries = [] { return entries_of(optimizer_registry()); },
       .read = read_optimizer,
       .write = write_optimizer});
}

}  // namespace weft
