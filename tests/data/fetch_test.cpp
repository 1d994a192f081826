#include "weft/data/fetch.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/file_server.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/libraries/sha256.h"
#include "weft/base/process.h"

namespace weft::fetch_test {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::TemporaryFolder;

// Sets a variable of the environment for as long as it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (before_.empty()) {
      ::unsetenv(name_);
    } else {
      ::setenv(name_, before_.c_str(), 1);
    }
  }

 private:
  const char* name_;
  std::string before_;
};

bool has_marker(const fs::path& folder) {
  return fs::exists(folder / "marker");
}

DatasetSplits open_nothing(const DataRequest&) { return {}; }

DatasetDef toy_set() {
  DatasetDef def;
  def.name = "toy";
  def.open = open_nothing;
  def.is_in = has_marker;
  def.terms = "free";
  return def;
}

// A file that curl can get without a network.
SourceFile local_source(const fs::path& path, const std::string& name) {
  return {"file://" + path.string(), name, sha256_of_file(path),
          fs::file_size(path)};
}

void quiet(const std::string&) {}

TEST(LocateData, FindsTheFolderItselfAndOneOfItsName) {
  const TemporaryFolder folder;
  folder.write("a/marker", "");
  folder.write("b/toy/marker", "");
  EXPECT_EQ(locate_data(toy_set(), folder / "a"), folder / "a");
  EXPECT_EQ(locate_data(toy_set(), folder / "b"), folder / "b" / "toy");
}

TEST(LocateData, LooksIntoTheEnvironmentAndTheCache) {
  const TemporaryFolder folder;
  folder.write("data/toy/marker", "");
  folder.write("cache/data/toy/marker", "");
  const Environment cache("WEFT_CACHE", (folder / "cache").string());
  {
    const Environment data("WEFT_DATA", (folder / "data").string());
    EXPECT_EQ(locate_data(toy_set()), folder / "data" / "toy");
  }
  const Environment data("WEFT_DATA", (folder / "none").string());
  EXPECT_EQ(locate_data(toy_set()), folder / "cache/data/toy");
}

TEST(LocateData, TriesNothingElseWhenAFolderIsGiven) {
  const TemporaryFolder folder;
  folder.write("data/toy/marker", "");
  const Environment data("WEFT_DATA", (folder / "data").string());
  expect_error(ErrorCode::kUnavailable, {"toy", (folder / "none").string()},
               [&] { locate_data(toy_set(), folder / "none"); });
}

TEST(LocateData, SaysHowToGetWhatIsMissing) {
  const TemporaryFolder folder;
  const Environment cache("WEFT_CACHE", folder.path().string());
  const Environment data("WEFT_DATA", folder.path().string());
  expect_error(ErrorCode::kUnavailable,
               {"mnist", "weft data fetch mnist", "https://", "--data"},
               [] { open_data({.name = "mnist"}); });
  expect_error(ErrorCode::kUnavailable, {"ptb", "licensed", "--data"},
               [] { open_data({.name = "ptb"}); });
  expect_error(ErrorCode::kUnavailable, {"csv", "--data"},
               [] { open_data({.name = "csv"}); });
}

TEST(LocateData, FindsTheShippedDigits) {
  const TemporaryFolder folder;
  const Environment data("WEFT_DATA", folder.path().string());
  EXPECT_EQ(open_data({.name = "digits"}).train->size(), 1437);
}

TEST(OpenData, NamesTheNearestDataSet) {
  expect_error(ErrorCode::kInvalidArgument,
               {"'minst'", "did you mean 'mnist'", "cifar10"},
               [] { open_data({.name = "minst"}); });
}

TEST(FetchData, DownloadsChecksAndKeeps) {
  const TemporaryFolder folder;
  DatasetDef def = toy_set();
  def.sources = {local_source(folder.write("source", "content"), "marker")};
  const auto cache = folder / "cache";
  EXPECT_EQ(fetch_data(def, cache, quiet), cache / "toy");
  EXPECT_EQ(read_text(cache / "toy/marker"), "content");
  // A second time nothing is downloaded.
  def.sources[0].url = "file:///nowhere";
  EXPECT_EQ(fetch_data(def, cache, quiet), cache / "toy");
}

TEST(FetchData, UnpacksArchives) {
  const TemporaryFolder folder;
  folder.write("inner/deep/marker", "packed");
  const auto archive = folder / "source.tar.gz";
  ASSERT_EQ(run_process({"tar", "-czf", archive.string(), "-C",
                         folder.path().string(), "inner"})
                .exit_code,
            0);
  DatasetDef def = toy_set();
  def.sources = {local_source(archive, "toy.tar.gz")};
  def.sources[0].is_archive = true;
  const auto found = fetch_data(def, folder / "cache", quiet);
  EXPECT_EQ(read_text(found / "marker"), "packed");
  EXPECT_FALSE(fs::exists(found / "toy.tar.gz"));
}

TEST(FetchData, LeavesNothingBehindWhenAChecksumIsWrong) {
  const TemporaryFolder folder;
  DatasetDef def = toy_set();
  def.sources = {local_source(folder.write("source", "content"), "marker")};
  def.sources[0].sha256[0] = '!';
  expect_error(ErrorCode::kDataLoss, {"file://", "checksum"},
               [&] { fetch_data(def, folder / "cache", quiet); });
  EXPECT_TRUE(fs::is_empty(folder / "cache"));
}

// A file that curl can get from one of several places.
DatasetDef mirrored(const fs::path& content, std::vector<std::string> urls) {
  DatasetDef def = toy_set();
  def.sources = {local_source(content, "marker")};
  def.sources[0].url = urls.front();
  def.sources[0].mirrors.assign(urls.begin() + 1, urls.end());
  return def;
}

TEST(FetchData, TriesMirrorsInTurn) {
  const TemporaryFolder folder;
  const fs::path good = folder.write("good", "content");
  const fs::path other = folder.write("other", "contend");
  std::vector<std::string> lines;
  const auto found = fetch_data(
      mirrored(good, {"file:///weft-no-such-file", "file://" + other.string(),
                      "file://" + good.string()}),
      folder / "cache",
      [&](const std::string& line) { lines.push_back(line); });
  EXPECT_EQ(read_text(found / "marker"), "content");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_NE(lines[2].find(good.string()), lines[2].npos);
  // All that were tried are named, each with its reason.
  expect_error(ErrorCode::kDataLoss,
               {"file:///weft-no-such-file: curl", other.string() + ": sha256",
                sha256_of_file(good)},
               [&] {
                 fetch_data(mirrored(good, {"file:///weft-no-such-file",
                                            "file://" + other.string()}),
                            folder / "again", quiet);
               });
  EXPECT_TRUE(fs::is_empty(folder / "again"));
}

TEST(FetchData, GoesOnWhereItWasCutOff) {
  const TemporaryFolder folder;
  const std::string content(100'000, 'c');
  const fs::path path = folder.write("content", content);
  test::FileServer server(content);
  server.cut_off_after(60'000);
  const DatasetDef def = mirrored(path, {server.url()});
  const fs::path cache = folder / "cache";
  expect_error(ErrorCode::kUnavailable, {server.url(), "goes on"},
               [&] { fetch_data(def, cache, quiet); });
  EXPECT_FALSE(fs::exists(cache / "toy"));
  server.cut_off_after(content.size());
  std::vector<std::string> lines;
  const auto found = fetch_data(
      def, cache, [&](const std::string& line) { lines.push_back(line); });
  EXPECT_EQ(read_text(found / "marker"), content);
  EXPECT_NE(lines[0].find("from 0.1 on"), lines[0].npos) << lines[0];
  // Only what was missing was asked for.
  EXPECT_EQ(server.asked_from().back(), 60'000u);
  EXPECT_EQ(fs::directory_iterator(cache)->path().filename(), "toy");
}

TEST(FetchData, BeginsAnewWhereWhatCameIsWrong) {
  const TemporaryFolder folder;
  const std::string content(1000, 'c');
  const fs::path path = folder.write("content", content);
  folder.write("cache/.toy.part/marker.part", std::string(400, 'x'));
  // And where the server cannot go on.
  for (const bool has_ranges : {true, false}) {
    test::FileServer server(content);
    server.has_ranges(has_ranges);
    const auto found =
        fetch_data(mirrored(path, {server.url()}), folder / "cache", quiet);
    EXPECT_EQ(read_text(found / "marker"), content);
    EXPECT_EQ(server.asked_from().back(), 0u);
    fs::remove_all(found);
    folder.write("cache/.toy.part/marker.part", content.substr(0, 400));
  }
}

TEST(FetchData, OneWaitsForAnother) {
  const TemporaryFolder folder;
  const std::string content(1'000'000, 'c');
  const fs::path path = folder.write("content", content);
  test::FileServer server(content);
  const DatasetDef def = mirrored(path, {server.url()});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(read_text(fetch_data(def, folder / "cache", quiet) / "marker"),
                content);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.asked_from().size(), 1u);
}

TEST(FetchData, SaysWhatCurlSaidWhenItCannotDownload) {
  const TemporaryFolder folder;
  DatasetDef def = toy_set();
  def.sources = {{"file:///weft-no-such-file", "marker", "", 10}};
  expect_error(ErrorCode::kUnavailable,
               {"file:///weft-no-such-file", "curl", "--data"},
               [&] { fetch_data(def, folder / "cache", quiet); });
}

TEST(FetchData, RefusesWhatNobodyMayHandOut) {
  expect_error(ErrorCode::kUnsupported, {"ptb", "licensed", "--data"}, [] {
    fetch_data(dataset_registry().get("ptb"), "unused", quiet);
  });
}

TEST(DatasetRegistry, StatesASourceOrTermsForEveryNamedSet) {
  for (const auto& def : dataset_registry().all()) {
    EXPECT_FALSE(def.summary.empty()) << def.name;
    EXPECT_FALSE(def.terms.empty()) << def.name;
    for (const auto& source : def.sources) {
      EXPECT_TRUE(source.url.starts_with("https://")) << def.name;
      for (const std::string& mirror : source.mirrors) {
        EXPECT_TRUE(mirror.starts_with("https://")) << def.name;
      }
      EXPECT_EQ(source.sha256.size(), 64u) << def.name;
      EXPECT_GT(source.bytes, 0u) << def.name;
    }
  }
}

}  // namespace
}  // namespace weft::fetch_test
