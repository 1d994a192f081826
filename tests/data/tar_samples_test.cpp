#include "weft/data/tar_samples.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/process.h"
#include "weft/data/fetch.h"
#include "weft/data/image.h"

namespace weft::tar_samples_test {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::TemporaryFolder;

// A grey picture of 3 x 4 pixels.
std::string picture(int shade) {
  return encode_png({.height = 3,
                     .width = 4,
                     .channels = 1,
                     .pixels = std::vector<std::uint8_t>(
                         12, static_cast<std::uint8_t>(shade))});
}

// Files of a sample are written in their order; a shard is what is in `from`.
void pack(const TemporaryFolder& folder, const std::string& from,
          const std::string& shard) {
  ASSERT_EQ(run_process({"tar", "--sort=name", "-cf", (folder / shard).string(),
                         "-C", (folder / from).string(), "."})
                .exit_code,
            0);
}

// Shards 000, 001, … of four samples each, labelled by `kind` and `labels`.
void write_shards(const TemporaryFolder& folder, int shards,
                  const std::string& kind,
                  const std::vector<std::string>& labels) {
  for (int s = 0; s < shards; ++s) {
    const std::string from = fmt::format("from-{}", s);
    for (int i = 0; i < 4; ++i) {
      const int number = 4 * s + i;
      const std::string name = fmt::format("{}/{:04}", from, number);
      folder.write(name + ".PNG", picture(10 * number));
      folder.write(fmt::format("{}.{}", name, kind),
                   labels[static_cast<std::size_t>(number) % labels.size()]);
    }
    pack(folder, from, fmt::format("train-{:03}.tar", s));
  }
}

struct Example {
  int shade;
  std::string label;
  bool operator==(const Example&) const = default;
};

std::vector<Example> examples_of(const Dataset& data) {
  std::vector<Example> examples;
  Tensor image = Tensor::zeros({DType::kU8, {1, 3, 4, 1}});
  Tensor label = Tensor::zeros({DType::kI32, {1}});
  for (std::int64_t i = 0; i < data.size(); ++i) {
    data.read({&i, 1}, std::vector{image.view(), label.view()});
    examples.push_back(
        {static_cast<int>(image.item(11)),
         data.classes()[static_cast<std::size_t>(label.item())]});
  }
  return examples;
}

TEST(TarSamples, ShareANameUpToTheFirstDot) {
  const TemporaryFolder folder;
  folder.write("in/a.x/1.left.png", "l");
  folder.write("in/a.x/1.right.png", "r");
  folder.write("in/a.x/2.cls", "0");
  pack(folder, "in", "s.tar");
  const std::string text = read_text(folder / "s.tar");
  const auto samples = read_samples(
      {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
      "s.tar");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].name, "./a.x/1");
  ASSERT_NE(samples[0].find("right.png"), nullptr);
  EXPECT_EQ(samples[0].find("right.png")->bytes[0], 'r');
  EXPECT_EQ(samples[0].find("png"), nullptr);
  EXPECT_EQ(samples[1].parts.size(), 1u);
}

TEST(TarSamples, ShardsAreNamedByStarsAndRanges) {
  const TemporaryFolder folder;
  for (const char* name : {"s-08.tar", "s-09.tar", "s-10.tar", "t.tar"}) {
    folder.write(name, "");
  }
  const auto names = [&](const std::string& pattern) {
    std::vector<std::string> found;
    for (const auto& path : shards_of(folder.path(), pattern)) {
      found.push_back(path.filename().string());
    }
    return found;
  };
  EXPECT_EQ(names("s-{08..10}.tar"),
            (std::vector<std::string>{"s-08.tar", "s-09.tar", "s-10.tar"}));
  EXPECT_EQ(names("*-0*.tar"),
            (std::vector<std::string>{"s-08.tar", "s-09.tar"}));
  EXPECT_TRUE(names("u*").empty());
  expect_error(ErrorCode::kUnavailable, {"s-11.tar", "not there"},
               [&] { names("s-{08..11}.tar"); });
  for (const char* wrong :
       {"s-{3..2}.tar", "s-{a..b}.tar", "s-{3.tar", "s-{0..99999999}.tar"}) {
    expect_error(ErrorCode::kInvalidArgument, {wrong, "{000..012}"},
                 [&] { names(wrong); });
  }
}

TEST(TarReader, ReadsPicturesAndTheirClasses) {
  for (const auto& [kind, labels, option] : std::vector<
           std::tuple<std::string, std::vector<std::string>, std::string>>{
           {"cls", {"1\n", "0"}, "cls"},
           {"txt", {"red\n", " blue "}, "txt"},
           {"json", {"{\"is\": \"red\"}", "{\"is\": \"blue\"}"}, "json.is"},
           {"json", {"{\"is\": 1}", "{\"is\": 0}"}, "json.is"}}) {
    const TemporaryFolder folder;
    write_shards(folder, 2, kind, labels);
    const auto splits = open_data({.name = "tar",
                                   .folder = folder.path(),
                                   .options = {{"label", option}}});
    const bool are_names = labels[0].find("red") != std::string::npos;
    const std::string first = are_names ? "red" : "1";
    const std::string second = are_names ? "blue" : "0";
    EXPECT_EQ(splits.train->classes(),
              are_names ? (std::vector<std::string>{"blue", "red"})
                        : (std::vector<std::string>{"0", "1"}));
    // Every fifth is held out: 0 and 5.
    EXPECT_EQ(examples_of(*splits.test),
              (std::vector<Example>{{0, first}, {50, second}}));
    EXPECT_EQ(splits.train->size(), 6);
    EXPECT_EQ(examples_of(*splits.train)[0], (Example{10, second}));
    EXPECT_EQ(splits.train->blocks(), (std::vector<std::int64_t>{3, 6}));
  }
}

TEST(TarReader, TakesItsShardsByName) {
  const TemporaryFolder folder;
  write_shards(folder, 3, "cls", {"0", "1"});
  fs::rename(folder / "train-002.tar", folder / "test.tar");
  const auto splits = open_data({.name = "tar", .folder = folder.path()});
  EXPECT_EQ(splits.train->size(), 8);
  EXPECT_EQ(splits.test->size(), 4);
  EXPECT_EQ(examples_of(*splits.test)[0].shade, 80);
  const auto chosen =
      open_data({.name = "tar",
                 .folder = folder.path(),
                 .options = {{"train", std::string("test.tar")},
                             {"test", std::string("train-{000..000}.tar")}}});
  EXPECT_EQ(chosen.train->size(), 4);
  EXPECT_EQ(examples_of(*chosen.test)[3].shade, 30);
  // One shard, given as the folder.
  EXPECT_EQ(
      open_data({.name = "tar", .folder = folder / "test.tar"}).train->size(),
      3);
  expect_error(ErrorCode::kUnavailable, {"no shard is called 'x*'"}, [&] {
    open_data({.name = "tar",
               .folder = folder.path(),
               .options = {{"train", std::string("x*")}}});
  });
}

TEST(TarReader, FindsNumberedClassesByTheirNumbers) {
  const TemporaryFolder folder;
  write_shards(folder, 1, "cls", {"00", "01"});
  const auto data = open_data({.name = "tar", .folder = folder.path()});
  EXPECT_EQ(data.train->classes(), (std::vector<std::string>{"0", "1"}));
}

TEST(TarReader, DamageIsNamedBySample) {
  const auto expect = [](ErrorCode code, std::vector<std::string> parts,
                         std::vector<std::pair<std::string, std::string>> files,
                         const std::string& label = "cls") {
    const TemporaryFolder folder;
    folder.write("in/1.png", picture(1));
    folder.write("in/1.cls", "0");
    for (const auto& [name, content] : files) {
      folder.write("in/" + name, content);
    }
    pack(folder, "in", "s.tar");
    expect_error(code, {"s.tar", parts[0]}, [&] {
      open_data({.name = "tar",
                 .folder = folder.path(),
                 .options = {{"label", label}}});
    });
  };
  expect(ErrorCode::kDataLoss, {"./2: the sample has no .cls"},
         {{"2.png", picture(2)}});
  expect(ErrorCode::kDataLoss, {"./2: the sample has 0 pictures"},
         {{"2.cls", "1"}});
  expect(ErrorCode::kDataLoss, {"./1: the sample has 2 pictures"},
         {{"1.jpg", "x"}});
  expect(ErrorCode::kDataLoss, {"./2: its .cls says no class"},
         {{"2.png", picture(2)}, {"2.cls", " \n"}});
  expect(ErrorCode::kDataLoss, {"./1: its .json is no object"},
         {{"1.json", "[1"}}, "json.is");
  expect(ErrorCode::kDataLoss, {"'./README' has no name and kind"},
         {{"README", "x"}});
  expect(ErrorCode::kDataLoss, {"./2"},
         {{"2.png", "no picture"}, {"2.cls", "0"}});
  expect(ErrorCode::kDataLoss, {"./2: 1 x 1 pixels, but"},
         {{"2.png",
           encode_png({.height = 1, .width = 1, .channels = 1, .pixels = {0}})},
          {"2.cls", "0"}});
  expect_error(ErrorCode::kInvalidArgument, {"data.label", "json.KEY"}, [] {
    const TemporaryFolder folder;
    folder.write("s.tar", "");
    open_data({.name = "tar",
               .folder = folder.path(),
               .options = {{"label", std::string("json")}}});
  });
}

}  // namespace
}  // namespace weft::tar_samples_test
