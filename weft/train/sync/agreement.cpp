#include "weft/train/sync/agreement.h"

#include "weft/base/version.h"

namespace weft {
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

}  // namespace weft
