#include "weft/data/fetch.h"

#include <cstdlib>
#include <unistd.h>

#include "weft/base/cache.h"
#include "weft/base/file.h"
#include "weft/base/libraries/sha256.h"
#include "weft/base/process.h"

#ifndef WEFT_SHIPPED_DATA
#define WEFT_SHIPPED_DATA ""
#endif

namespace weft {
namespace {

namespace fs = std::filesystem;

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

// `folder` or its subfolder called as the data set, or "" if neither has it.
fs::path find_in(const DatasetDef& def, const fs::path& folder) {
  if (folder.empty()) return {};
  // A folder of several data sets has one subfolder for each, which is looked
  // at first.
  if (def.is_in(folder / def.name)) return folder / def.name;
  if (def.is_in(folder)) return folder;
  return {};
}

std::string how_to_get(const DatasetDef& def) {
  if (!def.sources.empty()) {
    return fmt::format(
        "weft data fetch {}, or name its folder with --data or WEFT_DATA",
        def.name);
  }
  if (def.is_named_set) return def.terms;
  return "name the folder with --data";
}

Error not_found(const DatasetDef& def, const std::vector<fs::path>& looked) {
  Error error(ErrorCode::kUnavailable, "data", "cannot find the data set '{}'",
              def.name);
  for (const auto& folder : looked) {
    if (!folder.empty()) error.detail("not in: " + folder.string());
  }
  for (const auto& source : def.sources) {
    error.detail("published at: " + source.url);
  }
  return std::move(error.hint(how_to_get(def)));
}

void check(const fs::path& file, const SourceFile& source) {
  const std::string sum = sha256_of_file(file);
  if (sum == source.sha256) return;
  throw Error(ErrorCode::kDataLoss, source.url,
              "the file has another checksum than its publisher's")
      .detail("sha256 got:    " + sum)
      .detail("sha256 wanted: " + source.sha256)
      .hint("try again later; the file was not kept");
}

// A file or folder that is removed again unless it is renamed away.
struct Temporary {
  fs::path path;
  ~Temporary() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

void download(const SourceFile& source, const fs::path& target) {
  // 1.1 times the size: more is not the file that was asked for.
  const std::string most = std::to_string(source.bytes + source.bytes / 10);
  // --fail makes an error of an error page, and "--" keeps a URL from being an
  // option.
  const ProcessResult result =
      run_process({"curl", "--fail", "--location", "--silent", "--show-error",
                   "--retry", "2", "--connect-timeout", "20", "--max-filesize",
                   most, "--output", target.string(), "--", source.url});
  if (result.exit_code == 0) return;
  throw Error(ErrorCode::kUnavailable, source.url, "cannot be downloaded")
      .detail(result.errors.empty()
                  ? fmt::format("curl ended with {}", result.exit_code)
                  : result.errors)
      .hint(
          "without a network, copy the files here by hand and name their "
          "folder with --data");
}

// Replaces the archive by its files, without their folders.
void unpack(const fs::path& archive, const fs::path& folder) {
  // It is beside the files, so that they are renamed and not copied.
  const Temporary work{folder / ".unpack"};
  create_folders(work.path);
  // The owners in an archive are of its publisher's machine.
  const ProcessResult result =
      run_process({"tar", "--extract", "--gzip", "--no-same-owner", "--file",
                   archive.string(), "--directory", work.path.string()});
  if (result.exit_code != 0) {
    throw Error(ErrorCode::kDataLoss, archive.string(), "cannot be unpacked")
        .detail(result.errors);
  }
  for (const auto& entry : fs::recursive_directory_iterator(work.path)) {
    // Links may lead out of the folder.
    if (!entry.is_regular_file() || entry.is_symlink()) continue;
    fs::rename(entry.path(), folder / entry.path().filename());
  }
  fs::remove(archive);
}

}  // namespace

fs::path data_cache() {
  const fs::path cache = cache_folder();
  return cache.empty() ? fs::path() : cache / "data";
}

fs::path locate_data(const DatasetDef& def, const fs::path& given) {
  std::vector<fs::path> places{given};
  // A folder that the user names is the only one that is looked into: other
  // data in its place would go unnoticed.
  if (given.empty()) places = {from_environment("WEFT_DATA")};
  if (given.empty() && def.is_named_set) {
    places.insert(places.end(), {WEFT_SHIPPED_DATA, data_cache()});
  }
  for (const auto& place : places) {
    if (fs::path found = find_in(def, place); !found.empty()) return found;
  }
  throw not_found(def, places);
}

DatasetSplits open_data(DataRequest request) {
  const DatasetDef& def = dataset_registry().get(request.name);
  request.options = complete(def.options, request.options, "data " + def.name);
  request.folder = locate_data(def, request.folder);
  return def.open(request);
}

fs::path fetch_data(const DatasetDef& def, const fs::path& cache,
                    const std::function<void(const std::string&)>& report) {
  if (def.sources.empty()) {
    throw Error(ErrorCode::kUnsupported, "data fetch", "'{}' cannot be fetched",
                def.name)
        .hint(def.terms);
  }
  if (cache.empty()) {
    throw Error(ErrorCode::kUnavailable, "data fetch",
                "no folder to keep downloads in")
        .hint("set WEFT_CACHE");
  }
  fs::path folder = cache / def.name;
  if (def.is_in(folder)) {
    report(fmt::format("{} is in {}", def.name, folder.string()));
    return folder;
  }
  // The folder appears under its name only when it is complete. The process's
  // number keeps two fetches at a time apart.
  const Temporary part{cache / fmt::format(".{}.part-{}", def.name, getpid())};
  create_folders(part.path);
  for (const auto& source : def.sources) {
    report(fmt::format("{} ({:.1f} MB)", source.url,
                       static_cast<double>(source.bytes) / 1e6));
    const fs::path file = part.path / source.name;
    download(source, file);
    check(file, source);
    // Only what has the publisher's checksum is unpacked.
    if (source.is_archive) unpack(file, part.path);
  }
  // Renaming is atomic; it fails where another fetch was faster and has filled
  // the folder.
  std::error_code error;
  fs::rename(part.path, folder, error);
  if (error) {
    throw Error(ErrorCode::kUnavailable, folder.string(),
                "cannot take the place of what is there: {}", error.message());
  }
  report(fmt::format("{} is in {}; {}", def.name, folder.string(), def.terms));
  return folder;
}

}  // namespace weft
