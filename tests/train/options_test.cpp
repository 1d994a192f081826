// What registries declare of the options of their entries is what a recipe is
// held against: every range, every choice, every name.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "tests/support/errors.h"

#include "weft/train/recipe/keys.h"
#include "weft/train/recipe/recipe.h"

namespace weft {
namespace {

using test::expect_error;

// The nearest values that a range leaves out, of the kind of `spec`.
std::vector<OptionValue> just_outside(const OptionSpec& spec) {
  const NumberRange any;
  const NumberRange& range = spec.range;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<OptionValue> values;
  const auto add = [&](double bound, bool is_open, double direction) {
    if (std::holds_alternative<double>(spec.value)) {
      values.emplace_back(is_open ? bound : std::nextafter(bound, direction));
      return;
    }
    const auto integer =
        static_cast<std::int64_t>(bound) + (is_open         ? 0
                                            : direction > 0 ? 1
                                                            : -1);
    if (std::holds_alternative<std::int64_t>(spec.value)) {
      values.emplace_back(integer);
    } else if (std::holds_alternative<std::vector<std::int64_t>>(spec.value)) {
      values.emplace_back(std::vector<std::int64_t>{integer});
    }
  };
  if (range.least != any.least)
    add(range.least, range.is_open_below, -kInfinity);
  if (range.most != any.most) add(range.most, range.is_open_above, kInfinity);
  return values;
}

bool is_number(const OptionSpec& spec) {
  return std::holds_alternative<double>(spec.value) ||
         std::holds_alternative<std::int64_t>(spec.value) ||
         std::holds_alternative<std::vector<std::int64_t>>(spec.value);
}

// The text of a call with one option: "project(ball(radius=-1))" for the entry
// "project(ball)" is not asked for, as "ball" stands among the calls too.
std::string call(const RecipeCall& of, const std::string& option,
                 const std::string& value) {
  return fmt::format("{}({}={})", of.entry.entry, option, value);
}

// A name that is nearly `name`, and that nothing has.
std::string nearly(const std::string& name) { return name + "z"; }

// Calls are read as [sync] codec, optimizer.wrap, … read them.
TEST(RecipeCalls, RefuseWhatTheirOptionsMayNotBe) {
  std::set<std::string> kinds;
  int refused = 0;
  for (const RecipeCall& each : recipe_calls()) {
    kinds.insert(each.entry.kind);
    for (const OptionSpec& spec : each.entry.options) {
      for (const OptionValue& value : just_outside(spec)) {
        const std::string text = call(each, spec.name, to_string(value));
        SCOPED_TRACE(text);
        expect_error(ErrorCode::kInvalidArgument,
                     {"option '" + spec.name + "'", "must be ",
                      to_string(spec.range), text, "\n  ", "^"},
                     [&] { each.kind->canonical(text); });
        ++refused;
      }
      if (!spec.choices.empty()) {
        const std::string text =
            call(each, spec.name, nearly(spec.choices.back()));
        SCOPED_TRACE(text);
        expect_error(ErrorCode::kInvalidArgument,
                     {"option '" + spec.name + "'", spec.choices.front()},
                     [&] { each.kind->canonical(text); });
        ++refused;
      }
    }
  }
  for (const char* kind :
       {"sync policy", "sparsifier", "value codec", "index codec", "byte codec",
        "collective", "all-reduce", "sparse all-reduce", "schedule", "layer",
        "wrapper of optimizers", "projection", "augmentation", "view"}) {
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  }
  EXPECT_GT(refused, 60);
}

TEST(RecipeCalls, RefuseUnknownNamesWithTheNearest) {
  int near = 0;
  for (const RecipeCall& each : recipe_calls()) {
    if (each.entry.options.empty()) continue;
    std::vector<std::string> names;
    for (const OptionSpec& spec : each.entry.options) {
      names.push_back(spec.name);
    }
    const std::string wrong = nearly(names.back());
    const std::string text = call(each, wrong, "1");
    SCOPED_TRACE(text);
    const std::string right = nearest(wrong, names);
    expect_error(ErrorCode::kInvalidArgument,
                 {"unknown option '" + wrong + "'",
                  right.empty() ? "options at this place"
                                : "did you mean '" + right + "'?",
                  names.front()},
                 [&] { each.kind->canonical(text); });
    if (!right.empty()) ++near;
  }
  EXPECT_GT(near, 25);
}

// Whoever adds a codec, a collective or a policy says what its options may be.
TEST(RecipeCalls, OfSyncDeclareAllOfTheirOptions) {
  for (const RecipeCall& each : recipe_calls()) {
    if (!each.key.starts_with("sync.")) continue;
    for (const OptionSpec& spec : each.entry.options) {
      SCOPED_TRACE(each.entry.entry + "." + spec.name);
      EXPECT_FALSE(spec.summary.empty());
      EXPECT_FALSE(is_number(spec) && to_string(spec.range).empty());
      EXPECT_FALSE(std::holds_alternative<std::string>(spec.value) &&
                   spec.choices.empty() && spec.calls == nullptr);
    }
  }
}

// Numbers that may be any are few, and meant so.
TEST(RecipeKeys, AndCallsDeclareTheirRanges) {
  const std::set<std::string> any{
      "surgery.deviations", "box.min",     "box.max",
      "ball.axes",          "sphere.axes", "simplex.axis"};
  std::set<std::string> found;
  const auto look = [&](std::string_view owner, const OptionSpec& spec) {
    EXPECT_FALSE(spec.summary.empty()) << owner << "." << spec.name;
    if (is_number(spec) && to_string(spec.range).empty()) {
      found.insert(fmt::format("{}.{}", owner, spec.name));
    }
  };
  for (const RecipeKey& key : recipe_keys()) {
    look(key.entry.empty() ? key.section : key.entry, key.spec);
  }
  for (const RecipeCall& each : recipe_calls()) {
    for (const OptionSpec& spec : each.entry.options) look(each.name(), spec);
  }
  EXPECT_EQ(found, any);
}

// What is written without options reads as what is written with all of them.
TEST(RecipeCalls, AreWrittenOut) {
  for (const RecipeCall& each : recipe_calls()) {
    const bool is_nested = each.entry.entry.find('(') != std::string::npos;
    if (is_nested || each.kind->canonical == nullptr) continue;
    SCOPED_TRACE(each.entry.entry);
    std::string once;
    try {
      once = each.kind->canonical(each.entry.entry);
    } catch (const Error&) {
      continue;  // an option must be given: "residual" needs its layers
    }
    EXPECT_EQ(each.kind->canonical(once), once);
    for (const OptionSpec& spec : each.entry.options) {
      EXPECT_NE(once.find(spec.name + "="), std::string::npos) << once;
    }
  }
}

// Keys of sections, with the line or the override that they come from.
TEST(RecipeKeys, RefuseWhatTheyMayNotBe) {
  const std::string recipe =
      "[model]\nname = 'mlp'\n[data]\nname = 'digits'\n[optimizer]\nname = "
      "'sgd'\n";
  int refused = 0;
  for (const RecipeKey& key : recipe_keys()) {
    if (key.section.find('.') != std::string::npos) continue;
    // Data are of one source or another.
    if (!key.entry.empty() && key.section == "data") continue;
    std::vector<std::string> overrides;
    if (!key.entry.empty()) {
      overrides = {fmt::format("{}.name={}", key.section, key.entry)};
    }
    for (const OptionValue& value : just_outside(key.spec)) {
      auto given = overrides;
      given.push_back(key.path() + "=" + to_string(value));
      SCOPED_TRACE(given.back());
      expect_error(ErrorCode::kInvalidArgument,
                   {key.path() + " = ", "must be " + to_string(key.spec.range),
                    "in: command line, --set " + given.back()},
                   [&] { parse_recipe(recipe, "a.toml", given); });
      ++refused;
    }
  }
  EXPECT_GT(refused, 120);
}

TEST(RecipeKeys, OfABadCallNameTheLine) {
  expect_error(ErrorCode::kInvalidArgument,
               {"option 'bits' = 9 must be in [2, 8]", "qsgd(9)\n       ^",
                "in: sync.codec, a.toml:8"},
               [] {
                 parse_recipe(
                     "[model]\nname = 'mlp'\n[data]\nname = 'digits'\n"
                     "[optimizer]\nname = 'sgd'\n[sync]\ncodec = 'qsgd(9)'\n",
                     "a.toml");
               });
}

}  // namespace
}  // namespace weft
