#include "weft/train/recipe/recipe_places.h"

namespace weft {

void RecipePlaces::add(std::string path, std::string place) {
  places_[std::move(path)] = std::move(place);
}

std::string RecipePlaces::find(std::string_view path) const {
  while (!path.empty()) {
    const auto found = places_.find(path);
    if (found != places_.end()) return found->second;
    const std::size_t dot = path.rfind('.');
    path = path.substr(0, dot == path.npos ? 0 : dot);
  }
  return "";
}

void RecipePlaces::tell(std::string_view section, Error& error) const {
  if (error.code() != ErrorCode::kInvalidArgument) return;
  const std::string& where = error.where();
  const bool is_within =
      where.starts_with(section) && where.substr(section.size())[0] == '.';
  const std::string_view path = is_within ? std::string_view(where) : section;
  const std::string place = find(path);
  if (!place.empty()) error.detail(fmt::format("in: {}, {}", path, place));
}

}  // namespace weft
