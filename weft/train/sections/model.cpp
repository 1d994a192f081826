#include "weft/nn/model.h"

#include "weft/base/call_reader.h"
#include "weft/nn/view.h"
#include "weft/train/recipe/entries.h"

namespace weft {
namespace {

const OptionSpec kViewedParameters{
    "parameters", std::string(),
    "which it is for: a pattern of names, as \"conv*.weight\""};
const OptionSpec kViewCall{.name = "view",
                           .value = std::string(),
                           .summary = "what the model sees in their place",
                           .calls = calls_of<parameter_view_registry>()};

nn::ViewChoice read_view(SectionReader section) {
  nn::ViewChoice choice;
  choice.parameters = section.require_text(kViewedParameters);
  choice.view = section.require_text(kViewCall);
  section.refuse_unknown();
  return choice;
}

void read_model(SectionReader& section, Recipe& recipe) {
  ModelRecipe& model = recipe.model;
  std::vector<OptionSpec> options;
  if (names_object(section)) {
    model.name = kGivenObject;
  } else {
    // The model declares its options: until its name is known, no key of the
    // section can be called unknown.
    options = read_entry(section, model_registry(), model.name).options;
  }
  // To ask for the key makes it known, before unknown ones are refused.
  const auto views = section.find_tables("views");
  model.options = section.read_options(options);
  for (std::size_t i = 0; i < views.size(); ++i) {
    model.views.push_back(
        read_view(section.inner(views[i], fmt::format("model.views.{}", i))));
  }
}

void write_model(const Recipe& recipe, RecipeWriter& out) {
  out.key("name", recipe.model.name);
  out.options(recipe.model.options);
  for (const nn::ViewChoice& choice : recipe.model.views) {
    out.element("model.views");
    out.key("parameters", choice.parameters);
    out.key("view", choice.view);
  }
}

}  // namespace

void register_recipe_section_model(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "model",
       .summary = "the network, with options of its own; [[model.views]] are "
                  "what it sees in place of parameters",
       .place = 10,
       .options = {{"name", std::string(), "of the model: see weft inspect"}},
       .entries = [] { return entries_of(model_registry()); },
       .tables = {{.key = "views", .options = {kViewedParameters, kViewCall}}},
       .read = read_model,
       .write = write_model});
}

}  // namespace weft
