#include "weft/base/libraries/shared_library.h"

#include <cstdlib>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::shared_library_test {
namespace {

using test::expect_error;

TEST(SharedLibrary, TriesPlacesInTurn) {
  const SharedLibrary library(
      {.name = "maths", .files = {"/nowhere/libm.so", "libm.so.6"}});
  double (*cosine)(double) = nullptr;
  library.find(cosine, "cos");
  EXPECT_EQ(cosine(0), 1);
  expect_error(ErrorCode::kUnavailable, {"maths", "weft_nothing"},
               [&] { library.symbol("weft_nothing"); });
}

TEST(SharedLibrary, SaysWhereItLookedAndHowToGetIt) {
  expect_error(ErrorCode::kUnavailable,
               {"maths", "/nowhere/a.so", "/nowhere/b.so", "from the shop"},
               [] {
                 SharedLibrary({.name = "maths",
                                .files = {"/nowhere/a.so", "/nowhere/b.so"},
                                .how = "from the shop"});
               });
}

TEST(SharedLibrary, TheEnvironmentNamesTheOnlyPlace) {
  ::setenv("WEFT_TEST_LIBRARY", "/nowhere/given.so", 1);
  expect_error(ErrorCode::kUnavailable, {"/nowhere/given.so"}, [] {
    SharedLibrary({.name = "maths",
                   .variable = "WEFT_TEST_LIBRARY",
                   .files = {"libm.so.6"}});
  });
  ::unsetenv("WEFT_TEST_LIBRARY");
}

TEST(CodeFolder, IsThatOfTheProgram) {
  EXPECT_EQ(code_folder(),
            std::filesystem::read_symlink("/proc/self/exe").parent_path());
}

}  // namespace
}  // namespace weft::shared_library_test
