#include "weft/data/augmentation.h"
#include "weft/data/registry.h"
#include "weft/train/recipe/entries.h"
#include "weft/train/step/training_data.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

const OptionSpec kDataName{"name", std::string(), "of the data: see weft data"};
const OptionSpec kDataSource{
    "source", std::string(),
    "where batches come from; the task's own if it is not given"};
const OptionSpec kDataFolder{
    "folder", std::string(),
    "where the data lie; empty: WEFT_DATA and the places "
    "that weft data names"};
const OptionSpec kSchema{
    "schema", std::string(),
    "what the rows to train on must be (weft validate): training begins only "
    "if they are"};
const OptionSpec kAugment{
    .name = "augment",
    .value = std::vector<std::string>(),
    .summary = "changes of training images at random, one behind the other",
    .calls = calls_of<augmentation_registry>()};

// Canonical: a recipe of before that only names them gets their options.
std::vector<std::string> read_augment(SectionReader& section) {
  const auto calls = std::get<std::vector<std::string>>(section.read(kAugment));
  return section.blame("augment", [&] { return Augmentations(calls).texts(); });
}

// A schema is of rows, which only data sets of the readers have.
std::string read_schema(SectionReader& section, const DataRecipe& data) {
  const auto schema = std::get<std::string>(section.read(kSchema));
  if (!schema.empty() && dataset_registry().find(data.name) == nullptr) {
    section.blame("schema", [&] {
      throw Error(ErrorCode::kInvalidArgument, std::string(),
                  "a schema is of a data set, and {} is none", data.name)
          .hint("weft data lists those that can have one");
    });
  }
  return schema;
}

void read_data(SectionReader& section, Recipe& recipe) {
  DataRecipe& data = recipe.data;
  OptionSpec source = kDataSource;
  // A task may have a source of its own, as embedding the nodes of a graph has
  // walks.
  source.value = training_task_registry().get(recipe.task.name).source;
  data.source = std::get<std::string>(section.read(source));
  const BatchSourceDef& def =
      section.blame("source", [&]() -> const BatchSourceDef& {
        return batch_source_registry().get(data.source);
      });
  data.name = std::get<std::string>(section.read(kDataName));
  data.folder = std::get<std::string>(section.read(kDataFolder));
  data.augment = read_augment(section);
  data.schema = read_schema(section, data);
  // The data declares options of its own: until its name is known, no key of
  // the section can be called unknown.
  // A key that is mistyped is told before the name that it may have been.
  if (data.name.empty()) section.refuse_unknown();
  data.name = section.require_text(kDataName);
  if (data.name == kGivenObject) return;
  data.options = section.read_options(
      section.blame("name", [&] { return def.options(data.name); }));
}

void write_data(const Recipe& recipe, RecipeWriter& out) {
  const DataRecipe& data = recipe.data;
  out.key("name", data.name);
  out.key("source", data.source);
  // An empty folder means that each machine looks for itself (data/fetch.h).
  if (!data.folder.empty()) out.key("folder", data.folder);
  if (!data.schema.empty()) out.key("schema", data.schema);
  out.key("augment", data.augment);
  out.options(data.options);
}

std::vector<EntryOptions> entries_of_data() {
  std::vector<EntryOptions> entries;
  for (const BatchSourceDef& source : batch_source_registry().all()) {
    for (const std::string& name : source.names()) {
      if (auto options = source.options(name); !options.empty()) {
        entries.push_back({name, source.summary, std::move(options)});
      }
    }
  }
  return entries;
}

}  // namespace

void register_recipe_section_data(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "data",
       .summary = "what is learned from, and where its batches come from",
       .place = 30,
       .options = {kDataName, kDataSource, kDataFolder, kSchema, kAugment},
       .entries = entries_of_data,
       .read = read_data,
       .write = write_data});
}

}  // namespace weft
