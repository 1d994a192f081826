// The files and folders that models are declared by: what there is to load.
#include <algorithm>
#include <charconv>

#include "weft/serve/repository.h"

namespace weft::serve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".weft";

// Names stand in addresses, and in labels of metrics. A dot in front would be a
// hidden file, or the way out of a folder.
bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '.' &&
         std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  c == '_' || c == '-' || c == '.';
         });
}

// The version that a file is called by: "3.weft".
std::optional<int> version_of(const fs::path& path) {
  const std::string stem = path.stem().string();
  int version = 0;
  const auto [end, failure] =
      std::from_chars(stem.data(), stem.data() + stem.size(), version);
  if (path.extension() != kExtension || failure != std::errc{} ||
      end != stem.data() + stem.size() || version < 1) {
    return std::nullopt;
  }
  return version;
}

}  // namespace

std::optional<Repository::Stamp> Repository::stamp_of(const fs::path& path) {
  std::error_code missing;
  const Stamp stamp{fs::last_write_time(path, missing),
                    fs::file_size(path, missing)};
  if (missing) return std::nullopt;
  return stamp;
}

void Repository::declare(const std::string& name, const fs::path& path) {
  if (!is_name(name)) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "'{}' cannot be a model's name", name)
        .hint("letters, digits, '_', '-' and '.': NAME=" + path.string());
  }
  const bool is_new = !versions_.contains(name) &&
                      slots_of(name).first == slots_of(name).second;
  if (is_new && fs::is_directory(path)) {
    versions_[name] = path;
  } else if (is_new) {
    slots_[{name, 0}] = {.path = path, .lane = nullptr};
  } else {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "another model is called '{}'", name)
        .hint("give one of them another name: NAME=" + path.string());
  }
}

bool Repository::is_unloaded(const std::string& name) const {
  const auto [begin, end] = slots_of(name);
  return begin != end && std::none_of(begin, end, [](const auto& each) {
           return each.second.is_wanted;
         });
}

void Repository::look_for_versions() {
  for (const auto& [name, folder] : versions_) {
    // What comes to a model that was let go waits until the model is loaded.
    const bool is_wanted = !is_unloaded(name);
    std::error_code gone;  // what is loaded goes on
    for (const auto& entry : fs::directory_iterator(folder, gone)) {
      const auto version = version_of(entry.path());
      if (!version) continue;
      slots_.try_emplace({name, *version},
                         Slot{.path = entry.path(),
                              .lane = nullptr,
                              .is_wanted = is_wanted,
                              .reason = is_wanted ? "" : kUnloaded,
                              // Nothing of it was tried yet, which is another
                              // stamp than any file's.
                              .tried = Stamp{}});
    }
  }
}

void Repository::look_into_folders() {
  look_for_versions();
  for (const fs::path& folder : folders_) {
    std::error_code failure;
    const fs::directory_iterator files(folder, failure);
    if (failure) {
      throw Refusal(Status::kUnavailable, folder.string(),
                    "the folder cannot be read: {}", failure.message());
    }
    for (const auto& entry : files) {
      if (entry.path().extension() != kExtension) continue;
      const std::string name = entry.path().stem().string();
      if (is_name(name) && !versions_.contains(name))
        slots_.try_emplace({name, 0},
                           Slot{.path = entry.path(), .lane = nullptr});
    }
  }
}

bool Repository::is_one_of_several(const Key& key) const {
  return key.second != 0 &&
         std::ranges::any_of(keys_of(key.first), [&](const Key& other) {
           return other != key && stamp_of(slots_.at(other).path);
         });
}

}  // namespace weft::serve
