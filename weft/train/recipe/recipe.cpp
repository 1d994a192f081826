#include "weft/train/recipe/recipe.h"

#include <algorithm>

#include "weft/base/file.h"
#include "weft/train/recipe/section_def.h"
#include "weft/train/recipe/toml_text.h"

namespace weft {
namespace {

// A recipe is written by hand; more than this is something else.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

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

// Those of a section that keeps nothing elsewhere. A recipe that was made by a
// program may leave them out.
Options options_of(const Recipe& recipe, const RecipeSectionDef& def) {
  const auto own = recipe.more.find(def.name);
  return complete(def.options,
                  own == recipe.more.end() ? Options() : own->second, def.name);
}

// Adds the place of everything below a table:
// "optimizer.groups.0.parameters".
void add_places(const toml::node& node, const std::string& path,
                const RecipeSource& source, RecipePlaces& places) {
  if (!path.empty())
    places.add(path, source.describe(path, node.source().begin));
  const auto below = [&](std::string_view key, const toml::node& inner) {
    add_places(
        inner,
        path.empty() ? std::string(key) : fmt::format("{}.{}", path, key),
        source, places);
  };
  if (const toml::table* table = node.as_table()) {
    for (const auto& [key, inner] : *table) below(key.str(), inner);
  } else if (const toml::array* list = node.as_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      below(std::to_string(i), (*list)[i]);
    }
  }
}

Recipe read_recipe(const toml::table& root, const RecipeSource& source) {
  SectionReader sections(&root, "", source);
  const toml::table empty;
  std::vector<std::pair<const RecipeSectionDef*, const toml::table*>> found;
  for (const RecipeSectionDef* def : sections_in_order()) {
    const toml::table* table = sections.find_table(def->name);
    found.emplace_back(def, table == nullptr ? &empty : table);
  }
  // A section that is mistyped is told before what the others lack.
  sections.refuse_unknown();
  Recipe recipe;
  for (const auto& [def, table] : found) {
    SectionReader section = sections.inner(table, def->name);
    if (def->read != nullptr) {
      def->read(section, recipe);
    } else {
      recipe.more[def->name] = section.read_options(def->options);
    }
    section.refuse_unknown();
  }
  add_places(root, "", source, recipe.places);
  return recipe;
}

}  // namespace

Error needs_object(std::string_view kind) {
  return Error(ErrorCode::kUnsupported,
               fmt::format("{} '{}'", kind, kGivenObject),
               "a program gave it, and has to give it again")
      .hint("there; or export the model there, for weft run");
}

std::vector<const RecipeSectionDef*> sections_in_order(
    const RecipeSectionRegistry& sections) {
  std::vector<const RecipeSectionDef*> ordered;
  for (const RecipeSectionDef& def : sections.all()) ordered.push_back(&def);
  // The registry is sorted by name, which decides among equals.
  std::ranges::stable_sort(ordered, {}, &RecipeSectionDef::place);
  return ordered;
}

std::vector<std::unique_ptr<TrainHook>> section_hooks(
    const Recipe& recipe, const RecipeSectionRegistry& sections) {
  std::vector<std::unique_ptr<TrainHook>> hooks;
  for (const RecipeSectionDef* def : sections_in_order(sections)) {
    if (def->hook == nullptr) continue;
    if (auto hook = def->hook(options_of(recipe, *def))) {
      hooks.push_back(std::move(hook));
    }
  }
  return hooks;
}

std::string to_toml(const Recipe& recipe) {
  RecipeWriter out;
  for (const RecipeSectionDef* def : sections_in_order()) {
    out.section(def->name);
    if (def->write != nullptr) {
      def->write(recipe, out);
    } else {
      out.options(options_of(recipe, *def));
    }
  }
  return out.take();
}

std::string kept_text(Recipe recipe) {
  // Looking for NaN changes no number: a run that looks is the same run.
  recipe.train.check_numerics = false;
  return to_toml(recipe);
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

Recipe recipe_of_objects(std::span<const std::string> overrides) {
  std::string text;
  for (const char* section : {"model", "data", "optimizer"}) {
    text += fmt::format("[{}]\nname = \"{}\"\n", section, kGivenObject);
  }
  return parse_recipe(text, "recipe of objects", overrides);
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
