// Times of kernels in a file: what is kept, shared and refused.
#include "weft/graph/kernel_times.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

#include "weft/base/file.h"

namespace weft::kernel_times_test {
namespace {

constexpr std::size_t kMost = 4096;  // entries

const std::vector<KernelTime> kTimes = {{"a:slow", 12e-6}, {"b:fast", 3.5e-6}};
const std::vector<std::string> kNames = {"a:slow", "b:fast"};

TEST(TimesFile, ASecondReaderFindsWhatWasAdded) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "times.txt";
  TimesFile first(file, "machine", 2, kMost);
  EXPECT_EQ(first.find("call", kNames), nullptr);
  first.add("call", kTimes);
  const TimesFile second(file, "machine", 2, kMost);
  EXPECT_EQ(second.complaint(), "");
  ASSERT_NE(second.find("call", kNames), nullptr);
  EXPECT_EQ((*second.find("call", kNames))[1].name, "b:fast");
  EXPECT_NEAR((*second.find("call", kNames))[1].seconds, 3.5e-6, 1e-12);
  // Other candidates, or another order of rank, are another question.
  EXPECT_EQ(second.find("call", {"a:slow", "c:new"}), nullptr);
  EXPECT_EQ(second.find("call", {"b:fast", "a:slow"}), nullptr);
}

TEST(TimesFile, OfTwoThatMeasureAtOnceBothTakeWhatWasFirst) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "times.txt";
  TimesFile one(file, "machine", 2, kMost);
  TimesFile other(file, "machine", 2, kMost);
  one.add("call", kTimes);
  const auto held = other.add("call", {{"a:slow", 1e-6}, {"b:fast", 2e-6}});
  EXPECT_EQ(fastest(held).name, "b:fast");
  // And what only one of them measured is kept for both.
  other.add("another", kTimes);
  one.add("third", kTimes);
  EXPECT_EQ(TimesFile(file, "machine", 2, kMost).size(), 3u);
}

TEST(TimesFile, ForeignFilesAreIgnoredWithAWord) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "times.txt";
  TimesFile(file, "machine", 2, kMost).add("call", kTimes);
  TimesFile foreign(file, "another machine", 2, kMost);
  EXPECT_NE(foreign.complaint().find("another machine or version"),
            std::string::npos);
  EXPECT_EQ(foreign.size(), 0u);
}

TEST(TimesFile, DamagedLinesAreIgnoredWithAWord) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "times.txt";
  for (const char* line :
       {"call", "call\ta:slow=1", "call\ta:slow=1\tb:fast", "\ta=1\tb=2",
        "call\ta:slow=1\tb:fast=x", "call\ta:slow=1\tb:fast=-2",
        "call\ta:slow=nan\tb:fast=2", "call\ta:slow=1\t=2",
        "call\ta:slow=1\tb:fast=1e99", "call\ta:slow=1\tb:fast=2 "}) {
    write_file(file, std::string("machine\nwhole\ta:slow=1.00\tb:fast=2.00\n") +
                         line + "\n");
    const TimesFile times(file, "machine", 2, kMost);
    EXPECT_EQ(times.size(), 1u) << line;
    EXPECT_NE(times.find("whole", kNames), nullptr) << line;
    EXPECT_NE(times.complaint().find("1 damaged lines"), std::string::npos)
        << line;
  }
  for (const char* text : {"", "machine", "\n\n\n", "mach"}) {
    write_file(file, text);
    EXPECT_EQ(TimesFile(file, "machine", 2, kMost).size(), 0u);
  }
}

TEST(TimesFile, AFileIsNoLargerThanItMayBe) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "times.txt";
  std::string text = "machine\n";
  for (std::size_t i = 0; i < kMost + 10; ++i) {
    text += fmt::format("call {}\ta=1\tb=2\n", i);
  }
  write_file(file, text);
  const TimesFile times(file, "machine", 2, kMost);
  EXPECT_TRUE(times.is_full());
  EXPECT_EQ(times.size(), kMost);
}

TEST(TimesFile, AFolderThatCannotBeWrittenIsAnError) {
  const test::TemporaryFolder folder;
  write_file(folder.path() / "in_the_way", "");
  TimesFile times(folder.path() / "in_the_way" / "times.txt", "machine", 2,
                  kMost);
  EXPECT_THROW(times.make_sure_it_can_be_written(), Error);
}

TEST(KernelTimes, NoiseDoesNotBeatTheRank) {
  EXPECT_EQ(fastest({{"first", 1.0}, {"second", 0.96}}).name, "first");
  EXPECT_EQ(fastest({{"first", 1.0}, {"second", 0.9}}).name, "second");
  EXPECT_EQ(fastest({{"first", 1.0}, {"second", 0.9}, {"third", 0.8}}).name,
            "third");
}

}  // namespace
}  // namespace weft::kernel_times_test
