#include "weft/base/call_reader.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft {
namespace {

using test::expect_error;
using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

struct Def {
  std::string name;
  std::vector<OptionSpec> options;
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

TEST(CallReader, WritesWhatItReads) {
  for (const std::string text :
       {"grid(sizes=[4, 8], names=[\"a\", \"b c\"], depth=2)",
        "grid(sizes=[], names=[], depth=1)"}) {
    EXPECT_EQ(to_string(read(text)), text);
  }
  const Call<Def> call = read("grid([2], depth=1)");
  EXPECT_EQ(brief_call_text("grid", call.def->options, call.options),
            "grid(sizes=[2])");
  EXPECT_EQ(name_of_call("grid([2], depth=1)", "thing"), "grid");
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
        "grid([4 8])", "grid([4,, 8])", "grid([4,])", "grid([4", "grid([,])"}) {
    expect_error(ErrorCode::kInvalidArgument, {text, "^"}, [&] { read(text); });
  }
  expect_error(ErrorCode::kInvalidArgument,
               {"list of integers", "a list is written [4, 8]"},
               [] { read("grid(4,8)"); });
  expect_error(ErrorCode::kInvalidArgument, {"at least 1"},
               [] { read("grid(depth=0)"); });
}

}  // namespace
}  // namespace weft
