#include "weft/train/sweep/sweep.h"

#include <algorithm>
#include <set>

#include "weft/base/call_reader.h"
#include "weft/base/hash.h"

namespace weft {
namespace {

// More are a slip of the hand: nobody reads their table.
constexpr std::size_t kMostRuns = 1000;
// File systems take 255 bytes for a name.
constexpr std::size_t kLongestName = 180;

// An override for each of the values that it has.
struct Setting {
  std::string key;
  std::vector<std::string> overrides;

  bool is_swept() const { return overrides.size() > 1; }
};

Error refused(const std::string& override, std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::string(), std::move(message))
      .detail("in: command line, --set " + override);
}

Setting setting_of(const std::string& override) {
  const std::size_t equals = override.find('=');
  // Reading the recipe will refuse what is no assignment.
  if (equals == std::string::npos) return {override, {override}};
  Setting setting{override.substr(0, equals), {}};
  const auto values = split_values(
      std::string_view(override).substr(equals + 1), "--set " + setting.key);
  if (values.size() == 1) return {setting.key, {override}};
  if (setting.key == "log.folder") {
    throw refused(override,
                  "a sweep has one folder, with one in it for each run");
  }
  std::set<std::string_view> known;
  for (const std::string_view value : values) {
    if (!known.insert(value).second) {
      throw refused(override, fmt::format("'{}' is given twice", value));
    }
    setting.overrides.push_back(fmt::format("{}={}", setting.key, value));
  }
  return setting;
}

// What a file name may hold everywhere, and a shell takes without quotes.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') ||
         std::string_view("._-+=,").find(c) != std::string_view::npos;
}

// The same for the same values, whatever else is swept over: a sweep that goes
// on finds its runs by it.
std::string folder_name(const std::string& text) {
  std::string name = text;
  std::ranges::replace_if(
      name, [](char c) { return !is_plain(c); }, '_');
  // Names that had to change could become equal: a digest of the text keeps
  // them apart.
  if (name == text && name.size() <= kLongestName) return name;
  std::size_t digest = 0;
  for (const char c : text) {
    digest = hash_with(digest, static_cast<unsigned char>(c));
  }
  return fmt::format("{}-{:08x}", name.substr(0, kLongestName),
                     digest & 0xFFFFFFFF);
}

void refuse_twice(const std::vector<Setting>& settings,
                  std::span<const std::string> given) {
  for (std::size_t i = 0; i < settings.size(); ++i) {
    for (std::size_t j = 0; j < settings.size(); ++j) {
      if (i == j || !settings[i].is_swept()) continue;
      if (settings[i].key != settings[j].key) continue;
      throw refused(given[i],
                    fmt::format("'{}' has several values, and is set once more "
                                "by --set {}",
                                settings[i].key, given[j]));
    }
  }
}

SweepRun load_run(const std::filesystem::path& path,
                  const std::vector<Setting>& settings, std::size_t index) {
  // `index` is written in a number for each key, in the base of its values.
  std::vector<std::string> overrides(settings.size());
  for (std::size_t i = settings.size(); i-- > 0;) {
    const auto& choices = settings[i].overrides;
    overrides[i] = choices[index % choices.size()];
    index /= choices.size();
  }
  std::string name;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (!settings[i].is_swept()) continue;
    name += (name.empty() ? "" : ",") + overrides[i];
  }
  return {folder_name(name), load_recipe(path, overrides)};
}

// Somebody may have meant a value that has commas.
void explain_commas(Error& error, const std::vector<Setting>& settings) {
  const std::string_view text = error.what();
  for (const Setting& setting : settings) {
    if (!setting.is_swept()) continue;
    for (const std::string& override : setting.overrides) {
      if (text.find("--set " + override) == std::string_view::npos) continue;
      error.detail(
          "commas separate the values of a sweep; a value that has some stands "
          "in quotation marks: --set '" +
          setting.key + "=\"a,b\"'");
      return;
    }
  }
}

}  // namespace

std::vector<SweepRun> load_sweep(const std::filesystem::path& recipe,
                                 std::span<const std::string> overrides) {
  std::vector<Setting> settings;
  std::size_t count = 1;
  for (const std::string& override : overrides) {
    settings.push_back(setting_of(override));
    count *= settings.back().overrides.size();
    if (count > kMostRuns) {
      throw refused(override,
                    fmt::format("these are more than {} runs", kMostRuns));
    }
  }
  refuse_twice(settings, overrides);
  std::vector<SweepRun> runs;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      runs.push_back(load_run(recipe, settings, i));
    } catch (Error& error) {
      explain_commas(error, settings);
      throw;
    }
  }
  return runs;
}

}  // namespace weft
