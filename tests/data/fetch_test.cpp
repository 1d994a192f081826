#include "weft/data/fetch.h"

#include <cstdlib>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
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
      EXPECT_EQ(source.sha256.size(), 64u) << def.name;
      EXPECT_GT(source.bytes, 0u) << def.name;
    }
  }
}

}  // namespace
}  // namespace weft::fetch_test
