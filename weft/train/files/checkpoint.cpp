#include "weft/train/files/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kCheckpointFormat = 1;
constexpr const char* kInfoKey = "weft";
// A list of what is wrong ends here, and the rest is only counted.
constexpr std::size_t kMostListed = 8;

const std::string& info_text(const SafetensorsFile& file) {
  const auto found = file.metadata().find(kInfoKey);
  if (found == file.metadata().end()) {
    throw Error(ErrorCode::kDataLoss, file.path().string(),
                "byte 8: the header has no '{}' in its metadata; this is no "
                "checkpoint of Weft",
                kInfoKey);
  }
  return found->second;
}

fs::path json_path(fs::path path) { return path.replace_extension(".json"); }

// A whole number from 0. nlohmann itself would convert a fraction or a number
// that does not fit, with undefined results.
template <class T>
T count_at(const Json& json, const char* key, std::string_view where) {
  const Json& value = json.at(key);
  if (!value.is_number_unsigned() ||
      !std::in_range<T>(value.get<std::uint64_t>())) {
    throw Error(ErrorCode::kDataLoss, where,
                "damaged checkpoint metadata: '{}' is no whole number from 0",
                key);
  }
  return value.get<T>();
}

void move_file(const fs::path& from, const fs::path& to) {
  std::error_code reason;
  fs::rename(from, to, reason);
  if (!reason) return;
  throw Error(ErrorCode::kUnavailable, from.string(),
              "cannot be moved to {}: {}", to.string(), reason.message());
}

}  // namespace

std::string to_json(const CheckpointInfo& info) {
  Json metrics = Json::object();
  for (const auto& [name, value] : info.metrics) {
    // JSON has no NaN.
    metrics[name] = std::isfinite(value) ? Json(value) : Json();
  }
  const Json json{{"format", kCheckpointFormat},
                  {"step", info.step},
                  {"epoch", info.position.epoch},
                  {"batch", info.position.batch},
                  {"seed", info.seed},
                  {"metrics", metrics},
                  {"data", info.data},
                  {"recipe", info.recipe}};
  // A value that was given with --set may hold bytes that are no UTF-8. They
  // are replaced, as a checkpoint must not fail for a name.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

CheckpointInfo parse_checkpoint_info(std::string_view text,
                                     std::string_view where) {
  try {
    // Errors of Weft pass by the handler below; what nlohmann throws, for a key
    // that is missing or has another type, is put into words of ours there.
    const Json json = Json::parse(text);
    const int format = count_at<int>(json, "format", where);
    if (format != kCheckpointFormat) {
      throw Error(ErrorCode::kUnsupported, where,
                  "checkpoint format {}, where {} is known", format,
                  kCheckpointFormat);
    }
    CheckpointInfo info;
    info.step = count_at<std::int64_t>(json, "step", where);
    info.position.epoch = count_at<std::int64_t>(json, "epoch", where);
    info.position.batch = count_at<std::int64_t>(json, "batch", where);
    info.seed = count_at<std::uint64_t>(json, "seed", where);
    info.recipe = json.at("recipe");
    for (const auto& [name, value] : json.at("metrics").items()) {
      info.metrics[name] = value.is_null()
                               ? std::numeric_limits<double>::quiet_NaN()
                               : value.get<double>();
    }
    // A file of before has none.
    if (json.contains("data")) info.data = json.at("data");
    return info;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kDataLoss, where, "damaged checkpoint metadata: {}",
                error.what());
  }
}

CheckpointFile::CheckpointFile(const fs::path& path)
    // The metadata is read at once, so that a file that is no checkpoint is
    // refused before anyone asks for its tensors.
    : tensors_(path),
      info_(parse_checkpoint_info(info_text(tensors_), path.string())) {}

std::vector<Tensor> CheckpointFile::read(std::span<const Wanted> wanted,
                                         bool allow_more) const {
  std::vector<std::string> problems;
  std::vector<Tensor> result;
  for (const auto& [name, type] : wanted) {
    const SafetensorsEntry* entry = tensors_.find(name);
    if (entry == nullptr) {
      problems.push_back(fmt::format("missing: {} {}", name, to_string(type)));
    } else if (entry->type != type) {
      problems.push_back(fmt::format("{} is {}, not {}", name,
                                     to_string(entry->type), to_string(type)));
      // All problems are told together; what is read beside one would be thrown
      // away.
    } else if (problems.empty()) {
      result.push_back(tensors_.read(*entry));
    }
  }
  if (!allow_more) {
    for (const auto& entry : tensors_.entries()) {
      // A search through the list will do for a file that is read once in a
      // run.
      const bool is_wanted = std::any_of(
          wanted.begin(), wanted.end(),
          [&](const auto& want) { return want.name == entry.name; });
      if (!is_wanted) {
        problems.push_back(fmt::format("not wanted: {} {}", entry.name,
                                       to_string(entry.type)));
      }
    }
  }
  if (problems.empty()) return result;

  Error error(ErrorCode::kDataLoss, tensors_.path().string(),
              "the tensors do not fit the model");
  for (std::size_t i = 0; i < problems.size() && i < kMostListed; ++i) {
    error.detail(problems[i]);
  }
  if (problems.size() > kMostListed) {
    error.detail(fmt::format("and {} more", problems.size() - kMostListed));
  }
  throw error.hint("is this the checkpoint of another recipe?");
}

CheckpointFolder::CheckpointFolder(fs::path folder, bool is_writer)
    : folder_(std::move(folder)) {
  // Workers that only read must not remove what the first one is writing.
  if (!is_writer) return;
  create_folders(folder_);
  // A run that was killed while it wrote leaves a temporary file behind.
  remove_stale_temporaries(folder_);
}

void write_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
  const std::string json = to_json(checkpoint.info);
  write_safetensors(path, checkpoint.tensors, {{kInfoKey, json}});
  write_file(json_path(path), json);
}

void CheckpointFolder::save(const Checkpoint& checkpoint, bool is_best) {
  // The best one goes first: a run that is killed in between continues from
  // the older last one and makes the same best one again.
  write_checkpoint(is_best ? best_path() : last_path(), checkpoint);
  if (!is_best) return;
  // Files are replaced and never changed, so both names may share one.
  link_file(best_path(), last_path());
  link_file(json_path(best_path()), json_path(last_path()));
}

fs::path CheckpointFolder::last_path() const {
  return folder_ / "last.safetensors";
}

fs::path CheckpointFolder::best_path() const {
  return folder_ / "best.safetensors";
}

std::optional<fs::path> CheckpointFolder::latest() const {
  std::error_code ignored;
  if (fs::exists(last_path(), ignored)) return last_path();
  return std::nullopt;
}

// The last one stands first: from what is moved in part nobody goes on.
std::vector<fs::path> CheckpointFolder::files() const {
  return {last_path(), json_path(last_path()), best_path(),
          json_path(best_path())};
}

std::optional<fs::path> CheckpointFolder::set_aside() {
  std::error_code ignored;
  std::vector<fs::path> own;
  for (const fs::path& file : files()) {
    if (fs::exists(file, ignored)) own.push_back(file);
  }
  if (own.empty()) return std::nullopt;
  const CheckpointFolder earlier(folder_ / "earlier");
  // What stayed there of a third run would seem to be of this one. What cannot
  // be removed cannot be replaced either, which is told below.
  for (const fs::path& file : earlier.files()) fs::remove(file, ignored);
  for (const fs::path& file : own) {
    move_file(file, earlier.folder_ / file.filename());
  }
  return earlier.folder_;
}

}  // namespace weft
