#include "weft/base/call_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::call_reader_test {
namespace {

using test::expect_error;
using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

struct Def {
  std::string name;
  std::vector<OptionSpec> options;
  std::string summary = {};
};

const Registry<Def>& registry() {
  static const Registry<Def> defs = [] {
    Registry<Def> all("thing");
    all.add({"grid",
             {{"sizes", Integers(), ""},
              {"names", Texts(), ""},
              {"depth", std::int64_t{1}, "", {.least = 1}}}});
    all.add({"around", {{"inner", std::string("none"), ""}}});
    all.freeze();
    return all;
  }();
  return defs;
}

Call<Def> read(std::string_view text) {
  return parse_call(text, registry(), "thing");
}

TEST(CallReader, PutsACaretUnderCharactersAndNotBytes) {
  test::expect_error(
      ErrorCode::kInvalidArgument,
      {"\n  one(text=\"ü\", x=1)\n                ^"}, [] {
        CallReader reader("one(text=\"ü\", x=1)", "test");
        reader.take_name("a name");
        reader.take_options("one", {{"text", std::string(), ""}});
      });
}

TEST(CallReader, ReadsLists) {
  EXPECT_EQ(option<Integers>(read("grid([4, 8])").options, "sizes"),
            (Integers{4, 8}));
  EXPECT_EQ(option<Integers>(read("grid( sizes = [ 3 ] )").options, "sizes"),
            (Integers{3}));
  EXPECT_EQ(option<Texts>(read("grid(names=[a, \"b c\"])").options, "names"),
            (Texts{"a", "b c"}));
  const auto none = read("grid(sizes=[], names=[])").options;
  EXPECT_TRUE(option<Integers>(none, "sizes").empty());
  EXPECT_TRUE(option<Texts>(none, "names").empty());
}

TEST(CallReader, ReadsAddressesAndPathsAsTexts) {
  for (const std::string text :
       {"10.0.0.1:7070", "node-1:70", "/a/b-1.key", "../run.key", "keys/1"}) {
    const Call<Def> call = read(fmt::format("around({} )", text));
    EXPECT_EQ(option<std::string>(call.options, "inner"), text);
    EXPECT_EQ(to_string(call), fmt::format("around(inner=\"{}\")", text));
  }
  expect_error(ErrorCode::kInvalidArgument, {"'depth'", "integer"},
               [] { read("grid(depth=1:2)"); });
}

TEST(CallReader, WritesWhatItReads) {
  for (const std::string text :
       {"grid(sizes=[4, 8], names=[a, \"b c\", \"true\"], depth=2)",
        "grid(sizes=[], names=[a-b, grid([2], names=[grid(depth=3)])], "
        "depth=1)",
        "grid(sizes=[], names=[], depth=1)"}) {
    EXPECT_EQ(to_string(read(text)), text);
  }
  const Call<Def> call = read("grid([2], depth=1)");
  EXPECT_EQ(brief_call_text("grid", call.def->options, call.options),
            "grid(sizes=[2])");
  EXPECT_EQ(name_of_call("grid([2], depth=1)", "thing"), "grid");
}

TEST(CallReader, TakesCallsWithinCallsAsTheirText) {
  const Call<Def> call = read("grid(names=[grid ( [4] ), b-c, d(\")\", [e])])");
  EXPECT_EQ(option<Texts>(call.options, "names"),
            (Texts{"grid ( [4] )", "b-c", "d(\")\", [e])"}));
}

const Registry<Def>& nests() {
  static const Registry<Def> defs = [] {
    Registry<Def> all("nest");
    all.add({"nest",
             {{.name = "inner",
               .value = Texts(),
               .summary = "",
               .calls = calls_of<nests>()}}});
    return all;
  }();
  return defs;
}

TEST(CallReader, ReadsEachOfManyCallsWithinEachOtherOnce) {
  const auto nested = [](int depth) {
    std::string text = "nest(inner=[])";
    for (int i = 1; i < depth; ++i)
      text = fmt::format("nest(inner=[{}])", text);
    return text;
  };
  const auto written = [](const std::string& text) {
    return to_string(parse_call(text, nests(), "nest"));
  };
  EXPECT_EQ(written("nest([nest, nest([])])"),
            "nest(inner=[nest(inner=[]), nest(inner=[])])");
  EXPECT_EQ(written(nested(16)), nested(16));
  expect_error(ErrorCode::kInvalidArgument, {"more than 32", "^"},
               [&] { written(nested(20)); });
  expect_error(ErrorCode::kInvalidArgument,
               {"did you mean 'nest'?", "at: inner.1, nesst", "at: inner.0"},
               [&] { written("nest([nest([nest, nesst])])"); });
}

TEST(CallReader, ReadsCallsWithinCalls) {
  for (const auto& [text, inner] :
       {std::pair("around(grid)", "grid"),
        {"around(grid())", "grid()"},
        {"around( inner = grid([4, 8], names=[\")\"]) )",
         "grid([4, 8], names=[\")\"])"},
        {"around(around(around(a)))", "around(around(a))"},
        {"around(\"grid(\")", "grid("}}) {
    const Call<Def> call = read(text);
    EXPECT_EQ(option<std::string>(call.options, "inner"), inner);
    // What is written reads as the same again.
    EXPECT_EQ(read(to_string(call)).options, call.options);
  }
  EXPECT_EQ(to_string(read("around(grid([4]))")), "around(inner=grid([4]))");
  EXPECT_EQ(option<Texts>(read("grid(names=[a(1, 2), b])").options, "names"),
            (Texts{"a(1, 2)", "b"}));
  expect_error(ErrorCode::kInvalidArgument, {"is not closed", "^"},
               [] { read("around(grid([4)"); });
  for (const char* text :
       {"around(grid(1) 2)", "around(2(3))", "around(grid(1)"}) {
    expect_error(ErrorCode::kInvalidArgument, {text, "^"}, [&] { read(text); });
  }
  expect_error(ErrorCode::kInvalidArgument, {"integer"},
               [] { read("grid(depth=a(1))"); });
}

TEST(CallReader, RefusesListsThatAreNone) {
  for (const char* text :
       {"grid([4, a])", "grid([1.5])", "grid([true])", "grid([4, [8]])",
        "grid([4 8])", "grid([4,, 8])", "grid([4,])", "grid([4", "grid([,])",
        "grid(names=[a(b])", "grid(names=[a(])])", "grid(names=[a(\")])"}) {
    expect_error(ErrorCode::kInvalidArgument, {text, "^"}, [&] { read(text); });
  }
  expect_error(ErrorCode::kInvalidArgument,
               {"list of integers", "a list is written [4, 8]"},
               [] { read("grid(4,8)"); });
  expect_error(ErrorCode::kInvalidArgument, {"at least 1"},
               [] { read("grid(depth=0)"); });
}

}  // namespace
}  // namespace weft::call_reader_test
