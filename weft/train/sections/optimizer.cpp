#include "weft/optim/groups.h"
#include "weft/optim/wrapper.h"
#include "weft/train/recipe/entries.h"

namespace weft {
namespace {

const OptionSpec kOptimizerName{"name", std::string(), "of the optimizer"};

// Schedules begin with this rate in help; where a recipe is read, read_lr()
// puts the optimizer's own in its place.
constexpr double kFirstRate = 0.01;

std::vector<EntryOptions> entries_of_schedules() {
  std::vector<EntryOptions> entries;
  for (const ScheduleDef& def : schedule_registry().all()) {
    entries.push_back({def.name, def.summary, schedule_options(def, kFirstRate),
                       schedule_registry().kind()});
  }
  return entries;
}

// read_lr() reads them with the optimizer's own rate as the first.
constexpr CallKind kSchedules{
    .canonical =
        [](std::string_view text) {
          return to_string(parse_schedule(text, kFirstRate));
        },
    .entries = entries_of_schedules};

const OptionSpec kLr{
    .name = "lr",
    .value = kFirstRate,
    .summary =
        "the learning rate: a number, or a schedule: \"cosine(from=0.1, "
        "to=0.001, warmup=200)\"; the optimizer's own if it is "
        "not given",
    .range = kPositive,
    .calls = &kSchedules};
// The default says of what kind a value must be (SectionReader::read), and a
// schedule is text.
const OptionSpec kLrText{"lr", std::string(), ""};
const OptionSpec kClipNorm{
    "clip_norm",
    0.0,
    "the largest norm of all gradients together; 0: they "
    "are not clipped",
    {.least = 0}};
// The wrappers, and what may be called within one: "project(ball)".
std::vector<EntryOptions> entries_of_wrappers() {
  std::vector<EntryOptions> entries;
  for (const EntryOptions& wrapper : entries_of(optimizer_wrapper_registry())) {
    entries.push_back(wrapper);
    for (const OptionSpec& spec : wrapper.options) {
      if (spec.calls == nullptr) continue;
      for (EntryOptions& inner : spec.calls->entries()) {
        inner.entry = fmt::format("{}({})", wrapper.entry, inner.entry);
        entries.push_back(std::move(inner));
      }
    }
  }
  return entries;
}

const CallKind kWrappers{
    .canonical = calls_of<optimizer_wrapper_registry>()->canonical,
    .entries = entries_of_wrappers};

const OptionSpec kWrap{
    .name = "wrap",
    .value = std::vector<std::string>(),
    .summary =
        "what stands around the optimizer, the first one innermost: "
        "\"lookahead(steps=5)\", …",
    .calls = &kWrappers};

// A group of parameters has these keys.
const OptionSpec kGroupParameters{
    "parameters", std::string(),
    "which it is for: a pattern of names, as \"*.bias\""};
const OptionSpec kGroupFrozen{"frozen", false, "they stay as they are"};
const OptionSpec kLrScale{"lr_scale", 1.0,
                          "what the learning rate is multiplied by", kPositive};
const OptionSpec kGroupName{
    "name", std::string(),
    "of another optimizer than the rest's; its options stand beside it, and "
    "are the rest's where a group does not say otherwise"};

Schedule read_lr(SectionReader& optimizer, double fallback) {
  const toml::node* node = optimizer.find("lr");
  if (node == nullptr) return constant_rate(fallback);
  if (node->is_string()) {
    const auto text = std::get<std::string>(optimizer.read(kLrText));
    return optimizer.blame("lr",
                           [&] { return parse_schedule(text, fallback); });
  }
  // A number alone stands for a constant rate.
  if (!node->is_table()) {
    return constant_rate(std::get<double>(optimizer.read(kLr)));
  }
  // Recipes of before say the same in a table.
  SectionReader section =
      optimizer.inner(optimizer.find_table("lr"), "optimizer.lr");
  const auto name = std::get<std::string>(section.read(
      {.name = "schedule", .value = std::string("constant"), .summary = ""}));
  const ScheduleDef& def = section.blame(
      "schedule",
      [&]() -> const ScheduleDef& { return schedule_registry().get(name); });
  Schedule lr{.name = def.name,
              .options = section.read_options(schedule_options(def, fallback))};
  section.refuse_unknown();
  return lr;
}

// `rest` are the settings of all parameters that are in no group.
GroupRecipe read_group(SectionReader section, const OptimizerRecipe& rest) {
  GroupRecipe group;
  group.parameters = section.require_text(kGroupParameters);
  group.is_frozen = std::get<bool>(section.read(kGroupFrozen));
  // What is frozen has no rate and no optimizer: keys of these are refused.
  if (!group.is_frozen) {
    group.lr_scale = std::get<double>(section.read(kLrScale));
    group.name = rest.name;
    const OptimizerDef& def =
        read_entry(section, optimizer_registry(), group.name);
    group.wrap = std::get<std::vector<std::string>>(section.read(kWrap));
    std::vector<OptionSpec> schema = def.options;
    if (group.name == rest.name) {
      // A group says only what is different.
      for (OptionSpec& spec : schema) spec.value = rest.options.at(spec.name);
    }
    group.options = section.read_options(schema);
    // It is made only to be checked, while the place of a mistake is known.
    section.blame("wrap", [&] {
      wrap_optimizer(def.make(group.options), group.wrap, rest.wrap);
    });
  }
  section.refuse_unknown();
  return group;
}

// An optimizer that a program gives has options, wrappers and groups of its
// own; the rate, clipping and what is frozen are the recipe's.
void read_given(SectionReader& section, OptimizerRecipe& optimizer) {
  optimizer.name = kGivenObject;
  optimizer.lr = read_lr(section, std::get<double>(kLr.value));
  optimizer.clip_norm = std::get<double>(section.read(kClipNorm));
  optimizer.wrap = std::get<std::vector<std::string>>(section.read(kWrap));
  const auto groups = section.find_tables("groups");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    optimizer.groups.push_back(read_group(
        section.inner(groups[i], fmt::format("optimizer.groups.{}", i)),
        optimizer));
  }
}

void read_optimizer(SectionReader& section, Recipe& recipe) {
  OptimizerRecipe& optimizer = recipe.optimizer;
  if (names_object(section)) return read_given(section, optimizer);
  const OptimizerDef& def =
      read_entry(section, optimizer_registry(), optimizer.name);
  optimizer.lr = read_lr(section, def.default_lr);
  optimizer.clip_norm = std::get<double>(section.read(kClipNorm));
  optimizer.wrap = std::get<std::vector<std::string>>(section.read(kWrap));
  // The groups are asked for before unknown keys are refused, and read behind
  // the options that they inherit.
  const auto groups = section.find_tables("groups");
  optimizer.options = section.read_options(def.options);
  section.refuse_unknown();
  section.blame("wrap", [&] {
    wrap_optimizer(def.make(optimizer.options), optimizer.wrap);
  });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    optimizer.groups.push_back(read_group(
        section.inner(groups[i], fmt::format("optimizer.groups.{}", i)),
        optimizer));
  }
  // All of it is put together once, so that what does not go together fails as
  // the recipe is read, and not when training begins.
  section.blame("wrap", [&] { make_optimizer(optimizer); });
}

void write_optimizer(const Recipe& recipe, RecipeWriter& out) {
  const OptimizerRecipe& optimizer = recipe.optimizer;
  out.key("name", optimizer.name);
  out.key("lr", to_string(optimizer.lr));
  out.key("clip_norm", optimizer.clip_norm);
  out.key("wrap", optimizer.wrap);
  out.options(optimizer.options);
  for (const GroupRecipe& group : optimizer.groups) {
    out.element("optimizer.groups");
    out.key("parameters", group.parameters);
    out.key("frozen", group.is_frozen);
    // read_group() would refuse any further key of such a group.
    if (group.is_frozen) continue;
    out.key("lr_scale", group.lr_scale);
    out.key("name", group.name);
    out.key("wrap", group.wrap);
    out.options(group.options);
  }
}

}  // namespace

void register_recipe_section_optimizer(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "optimizer",
       .summary = "how parameters change; [[optimizer.groups]] are parameters "
                  "that are trained in another way than the rest: those whose "
                  "names fit 'parameters', with 'frozen', or with 'lr_scale', "
                  "'name', 'wrap' and the options of an optimizer of their own",
       .place = 40,
       .options = {kOptimizerName, kLr, kClipNorm, kWrap},
       .entries = [] { return entries_of(optimizer_registry()); },
       .tables = {{.key = "groups",
                   .options = {kGroupParameters, kGroupFrozen, kLrScale,
                               kGroupName, kWrap}}},
       .read = read_optimizer,
       .write = write_optimizer});
}

}  // namespace weft
