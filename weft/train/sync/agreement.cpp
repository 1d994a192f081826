#include "weft/train/sync/agreement.h"

#include <algorithm>

#include "weft/base/sha256.h"
#include "weft/base/version.h"

namespace weft {
namespace {

// So many examples of each part of the data are compared: enough to tell other
// files, and other orders, from these, in milliseconds.
constexpr std::int64_t kExamples = 128;

std::string content_of(const Dataset& data) {
  const std::int64_t count = std::min(kExamples, data.size());
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    // The examples are spread over the whole, so that files of other lengths or
    // orders show.
    rows.push_back(i * data.size() / count);
  }
  std::vector<Tensor> batch;
  std::vector<TensorView> views;
  for (const Feature& feature : data.features()) {
    std::vector<Dim> dims{count};
    for (const Dim dim : feature.type.shape.dims()) dims.push_back(dim);
    batch.push_back(Tensor::zeros({feature.type.dtype, Shape(dims)}));
    views.push_back(batch.back().view());
  }
  data.read(rows, views);
  std::string digests;
  for (const Tensor& tensor : batch) digests += digest_of(tensor);
  return sha256(
      {reinterpret_cast<const std::uint8_t*>(digests.data()), digests.size()});
}

void add_part(const char* name, const DatasetRef& data,
              std::vector<AgreedItem>& items) {
  if (data == nullptr) return;
  std::string holds;
  for (const Feature& feature : data->features()) {
    holds += fmt::format(" {} {}", feature.name, to_string(feature.type));
  }
  items.push_back({fmt::format("{} data", name),
                   fmt::format("{} examples of{}, {} classes", data->size(),
                               holds, data->classes().size())});
  if (data->size() > 0) {
    items.push_back({fmt::format("content of the {} data", name),
                     // 64 bits tell files apart that differ by mistake, and fit
                     // into a message.
                     content_of(*data).substr(0, 16)});
  }
}

}  // namespace

std::vector<AgreedItem> recipe_items(const Recipe& recipe, bool is_resumed) {
  Recipe shared = recipe;
  // Machines may keep the data and the logs in folders of other names.
  shared.data.folder.clear();
  shared.log.folder.clear();
  // Looking for NaN changes no number, so one worker may do it alone.
  shared.train.check_numerics = false;
  std::vector<AgreedItem> items = {
      {"version of weft", kVersion},
      {"--resume", is_resumed ? "given" : "not given"}};
  std::string section;
  std::string_view rest;
  // The canonical text has every key: one that is added to recipes later is
  // compared without a word here.
  const std::string text = to_toml(shared);
  for (rest = text; !rest.empty();) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    const auto equals = line.find(" = ");
    if (line.starts_with('[')) {
      section = line.substr(1, line.size() - 2);
    } else if (equals != line.npos) {
      items.push_back({fmt::format("{}.{}", section, line.substr(0, equals)),
                       std::string(line.substr(equals + 3))});
    }
  }
  return items;
}

std::vector<AgreedItem> data_items(const DatasetSplits& data) {
  std::vector<AgreedItem> items;
  add_part("training", data.train, items);
  add_part("validation", data.valid, items);
  add_part("test", data.test, items);
  return items;
}

}  // namespace weft
