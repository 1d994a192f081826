#include "weft/data/fetch.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
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

// The folder that a data set is gathered in, for one process at a time: others
// wait. What has come stays in it when the network fails, and is gone on with.
class Gathering {
 public:
  explicit Gathering(fs::path path) : path_(std::move(path)) {
    // Whoever had the folder before may have finished it, which takes its name
    // away.
    while (!lock()) {
    }
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  ~Gathering() {
    // Only an empty folder goes; and its name may be that of no folder any
    // more.
    std::error_code ignored;
    if (fs::is_empty(path_, ignored)) fs::remove(path_, ignored);
    ::close(file_);
  }

  const fs::path& path() const { return path_; }

 private:
  bool lock() {
    create_folders(path_);
    file_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat own {};
    struct stat named {};
    const bool is_locked = file_ >= 0 && ::flock(file_, LOCK_EX) == 0;
    if (!is_locked && errno != ENOENT && errno != EINTR) {
      throw Error(ErrorCode::kUnavailable, path_.string(),
                  "cannot be locked: {}",
                  std::generic_category().message(errno));
    }
    const bool is_it = is_locked && ::fstat(file_, &own) == 0 &&
                       ::stat(path_.c_str(), &named) == 0 &&
                       own.st_ino == named.st_ino;
    if (!is_it && file_ >= 0) ::close(file_);
    return is_it;
  }

  fs::path path_;
  int file_ = -1;
};

constexpr int kNoRanges = 33;  // curl: the server cannot go on within a file

ProcessResult run_curl(const std::string& url, const SourceFile& source,
                       const fs::path& target) {
  // 1.1 times the size: more is not the file that was asked for.
  const std::string most = std::to_string(source.bytes + source.bytes / 10);
  // --fail makes an error of an error page, and "--" keeps a URL from being an
  // option.
  return run_process({"curl", "--fail", "--location", "--silent",
                      "--show-error", "--retry", "2", "--connect-timeout", "20",
                      "--max-filesize", most, "--continue-at", "-", "--output",
                      target.string(), "--", url});
}

// Appends to `target` what is missing of it; says why it could not, or nothing.
std::string download(const std::string& url, const SourceFile& source,
                     const fs::path& target) {
  std::error_code error;
  const std::uint64_t there = fs::file_size(target, error);
  // It was complete, and only its checksum was not looked at.
  if (!error && there >= source.bytes) return {};
  ProcessResult result = run_curl(url, source, target);
  if (result.exit_code == kNoRanges) {
    fs::remove(target, error);
    result = run_curl(url, source, target);
  }
  if (result.exit_code == 0) return {};
  return result.errors.empty()
             ? fmt::format("curl ended with {}", result.exit_code)
             : result.errors;
}

// Brings a file into `folder`, from where it is published or else from a
// mirror.
void bring(const SourceFile& source, const fs::path& folder,
           const std::function<void(const std::string&)>& report) {
  const fs::path target = folder / source.name;
  // A file of this name is whole.
  if (fs::exists(target)) return;
  const fs::path part = folder / (source.name + ".part");
  std::vector<std::string> urls{source.url};
  urls.insert(urls.end(), source.mirrors.begin(), source.mirrors.end());
  std::vector<std::string> reasons;
  bool is_damaged = false;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(part, error);
    const std::uint64_t there = error ? 0 : size;
    report(fmt::format(
        "{} ({:.1f} MB{})", urls[i], static_cast<double>(source.bytes) / 1e6,
        there == 0 ? ""
                   : fmt::format(", from {:.1f} on",
                                 static_cast<double>(there) / 1e6)));
    const std::string reason = download(urls[i], source, part);
    if (!reason.empty()) {
      reasons.push_back(fmt::format("{}: {}", urls[i], reason));
      continue;
    }
    const std::string sum = sha256_of_file(part);
    if (sum == source.sha256) return fs::rename(part, target);
    // Nobody knows which of the bytes are wrong; those that were here before
    // may be.
    fs::remove(part);
    if (there > 0) {
      --i;
      continue;
    }
    is_damaged = true;
    reasons.push_back(fmt::format("{}: sha256 {}", urls[i], sum));
  }
  Error failed =
      is_damaged
          ? Error(ErrorCode::kDataLoss, source.url,
                  "the file has another checksum than its publisher's, {}",
                  source.sha256)
                .hint("try again later; the file was not kept")
          : Error(ErrorCode::kUnavailable, source.url, "cannot be downloaded")
                .hint(
                    "try again, which goes on with what has come; without a "
                    "network, copy the files here by hand and name their "
                    "folder with --data");
  for (const std::string& reason : reasons) failed.detail(reason);
  throw failed;
}

// A file or folder that is removed again unless it is renamed away.
struct Temporary {
  fs::path path;
  ~Temporary() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

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
  // The folder appears under its name only when it is complete.
  const Gathering part(cache / fmt::format(".{}.part", def.name));
  if (def.is_in(folder)) {
    report(fmt::format("{} is in {}", def.name, folder.string()));
    return folder;
  }
  for (const auto& source : def.sources) bring(source, part.path(), report);
  for (const auto& source : def.sources) {
    // Only what has the publisher's checksum is unpacked.
    if (source.is_archive) unpack(part.path() / source.name, part.path());
  }
  // Renaming is atomic; it fails where another fetch was faster and has filled
  // the folder.
  std::error_code error;
  fs::rename(part.path(), folder, error);
  if (error) {
    throw Error(ErrorCode::kUnavailable, folder.string(),
                "cannot take the place of what is there: {}", error.message());
  }
  report(fmt::format("{} is in {}; {}", def.name, folder.string(), def.terms));
  return folder;
}

}  // namespace weft
