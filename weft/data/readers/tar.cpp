// Pictures in shards, as WebDataset keeps them: train*.tar and test*.tar in a
// folder, or other .tar files of which a fifth is held out. A sample is a
// picture and what says its class (tar_samples.h). Shards are mapped, and
// pictures decoded when they are read, so that memory stays small.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>

#include "weft/data/picture_set.h"
#include "weft/data/registry.h"
#include "weft/data/tar_samples.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr int kMostClassNumbers = 1 << 20;
constexpr std::size_t kMostLabelBytes = std::size_t{1} << 20;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

// The number of a class, if `text` is one.
std::optional<std::int32_t> class_number(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 ||
      number >= kMostClassNumbers) {
    return {};
  }
  return number;
}

// Numbered classes are called by their numbers; else they have names.
std::vector<std::string> classes_of(const std::vector<std::string>& labels) {
  const auto is_number = [](const std::string& label) {
    return class_number(label).has_value();
  };
  if (!std::ranges::all_of(labels, is_number)) {
    const std::set<std::string> names(labels.begin(), labels.end());
    return {names.begin(), names.end()};
  }
  std::int32_t most = 0;
  for (const auto& label : labels) most = std::max(most, *class_number(label));
  std::vector<std::string> classes;
  for (std::int32_t i = 0; i <= most; ++i) classes.push_back(std::to_string(i));
  return classes;
}

// Whether classes are what classes_of() calls numbered ones.
bool are_numbered(const std::vector<std::string>& classes) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] != std::to_string(i)) return false;
  }
  return true;
}

// What says the class of a sample: "cls", "txt", "json.KEY".
class LabelReader {
 public:
  explicit LabelReader(const std::string& option)
      : kind_(option.substr(0, option.find('.'))),
        key_(option.size() > kind_.size() ? option.substr(kind_.size() + 1)
                                          : "") {
    if (key_.empty() != (kind_ != "json") || kind_.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "data.label",
                  "'{}' is neither a kind of file nor a key", option)
          .hint("\"cls\", \"txt\", or \"json.KEY\"");
    }
  }

  std::string read(const TarSample& sample, const std::string& where) const {
    const TarSample::Part* part = sample.find(kind_);
    if (part == nullptr) {
      throw Error(ErrorCode::kDataLoss, where, "the sample has no .{}", kind_)
          .hint("data.label says which file tells the class");
    }
    if (part->bytes.size() > kMostLabelBytes) {
      throw Error(ErrorCode::kDataLoss, where, "a .{} of {} bytes", kind_,
                  part->bytes.size());
    }
    const std::string_view text(
        reinterpret_cast<const char*>(part->bytes.data()), part->bytes.size());
    std::string label(key_.empty() ? trimmed(text) : key_in(text, where));
    if (!label.empty()) return label;
    throw Error(ErrorCode::kDataLoss, where, "its .{} says no class", kind_);
  }

 private:
  std::string key_in(std::string_view text, const std::string& where) const {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto found = json.is_object() ? json.find(key_) : json.end();
    if (!json.is_object() || found == json.end() ||
        !(found->is_string() || found->is_number_integer())) {
      throw Error(
          ErrorCode::kDataLoss, where,
          "its .json is no object with a text or a whole number as '{}'", key_);
    }
    return found->is_string() ? found->get<std::string>() : found->dump();
  }

  std::string kind_;
  std::string key_;
};

class TarSet final : public PictureSet {
 public:
  // `classes` are those of the training part; empty to take what the labels
  // say.
  TarSet(const std::vector<fs::path>& shards, const LabelReader& label,
         std::vector<std::string> classes, const DataRequest& request)
      : PictureSet(picture_size(request.options)) {
    name_ = shards.front().string();
    std::vector<std::string> labels;
    for (const fs::path& shard : shards) add_shard(shard, label, labels);
    if (labels.empty()) {
      throw Error(ErrorCode::kDataLoss, name_, "no samples");
    }
    classes_ = classes.empty() ? classes_of(labels) : std::move(classes);
    // With all of them mixed, nothing is won by an order.
    const auto mixed = option<std::int64_t>(request.options, "mixed");
    const auto all = static_cast<std::int64_t>(blocks_.size());
    mixed_blocks_ = mixed < all ? mixed : 0;
    describe(numbers_of(labels));
  }

 private:
  struct Picture {
    std::string where;  // "SHARD: NAME"
    ByteSpan bytes;
  };

  void add_shard(const fs::path& path, const LabelReader& label,
                 std::vector<std::string>& labels) {
    maps_.emplace_back(path);
    for (const TarSample& sample :
         read_samples(maps_.back().bytes(), path.string())) {
      const std::string where =
          fmt::format("{}: {}", path.string(), sample.name);
      const auto is_picture = [](const TarSample::Part& part) {
        return is_picture_name("picture." + part.kind);
      };
      const auto found = std::ranges::find_if(sample.parts, is_picture);
      if (std::ranges::count_if(sample.parts, is_picture) != 1) {
        throw Error(ErrorCode::kDataLoss, where,
                    "the sample has {} pictures, where it should have one "
                    "(.jpg, .jpeg or .png)",
                    std::ranges::count_if(sample.parts, is_picture));
      }
      labels.push_back(label.read(sample, where));
      pictures_.push_back({where, found->bytes});
    }
    blocks_.push_back(static_cast<std::int64_t>(pictures_.size()));
  }

  std::vector<std::int32_t> numbers_of(
      const std::vector<std::string>& labels) const {
    // A search for each sample would take long with thousands of classes.
    std::unordered_map<std::string_view, std::int32_t> known;
    for (const std::string& name : classes_) {
      known.emplace(name, static_cast<std::int32_t>(known.size()));
    }
    const bool has_numbers = are_numbered(classes_);
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto number = has_numbers ? class_number(labels[i]) : std::nullopt;
      // "00" and "0" are one class, as they are one number.
      const auto found =
          known.find(number ? std::to_string(*number) : labels[i]);
      // A test part with classes of its own would be numbered differently from
      // what the model was trained on.
      if (found == known.end()) {
        throw Error(ErrorCode::kDataLoss, pictures_[i].where,
                    "class '{}' is not among the {} of the training part",
                    labels[i].substr(0, 80), classes_.size());
      }
      numbers.push_back(found->second);
    }
    return numbers;
  }

  void with_picture(std::size_t row, const UsePicture& use) const override {
    use(pictures_[row].bytes, pictures_[row].where);
  }

  std::vector<MappedFile> maps_;
  std::vector<Picture> pictures_;
};

bool is_tar_file(const fs::path& path) {
  std::error_code ignored;
  return path.extension() == ".tar" && fs::is_regular_file(path, ignored);
}

bool is_tar(const fs::path& folder) {
  return is_tar_file(folder) || !shards_of(folder, "*.tar").empty();
}

DatasetSplits open_tar(const DataRequest& request) {
  const LabelReader label(option<std::string>(request.options, "label"));
  const auto read = [&](const std::vector<fs::path>& shards,
                        std::vector<std::string> classes) {
    return std::make_shared<TarSet>(shards, label, std::move(classes), request);
  };
  if (is_tar_file(request.folder)) {
    return hold_out_fifth(read({request.folder}, {}));
  }
  const auto part = [&](const char* name) {
    const auto pattern = option<std::string>(request.options, name);
    std::vector<fs::path> shards = shards_of(request.folder, pattern);
    // What is named must be there; what is usual need not.
    if (shards.empty() && pattern != fmt::format("{}*.tar", name)) {
      throw Error(ErrorCode::kUnavailable, request.folder.string(),
                  "no shard is called '{}'", pattern);
    }
    return shards;
  };
  std::vector<fs::path> train = part("train");
  const std::vector<fs::path> test = part("test");
  if (train.empty()) train = shards_of(request.folder, "*.tar");
  // Those that are held out are no shards to train on, however they are found.
  std::erase_if(train, [&](const fs::path& shard) {
    return std::ranges::find(test, shard) != test.end();
  });
  if (train.empty()) {
    throw Error(ErrorCode::kUnavailable, request.folder.string(),
                "there are shards to test on, and none to train on");
  }
  if (test.empty()) return hold_out_fifth(read(train, {}));
  DatasetSplits splits;
  splits.train = read(train, {});
  splits.test = read(test, splits.train->classes());
  return splits;
}

}  // namespace

void register_data_tar(DatasetRegistry& registry) {
  std::vector<OptionSpec> options = picture_size_specs();
  options.push_back({"train", "train*.tar",
                     "shards to train on: names with * or {000..012}"});
  options.push_back({"test", "test*.tar", "shards to measure on, likewise"});
  options.push_back(
      {"label", "cls",
       "the file of a sample that tells its class: \"cls\", \"txt\", or "
       "\"json.KEY\""});
  options.push_back(
      {"mixed",
       std::int64_t{0},
       "shards that are shuffled with each other, where not all fit "
       "into memory; 0: all",
       {.least = 0},
       {},
       "shards"});
  registry.add({.name = "tar",
                .summary = "pictures in shards (.tar), as WebDataset has them",
                .options = std::move(options),
                .open = open_tar,
                .is_in = is_tar,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
