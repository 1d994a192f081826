#include "weft/data/description_marks.h"

#include <array>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/data/description_text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// The name of data, their types and lanes are not among these: a model of other
// shapes does not fit the tensors of a checkpoint anyway.
constexpr std::array kMarked{"classes",      "words",           "pixel_scale",
                             "target_scale", "category_counts", "table"};

std::string mark_of(const Json& json) {
  const std::string text = json.dump();
  return fmt::format(
      "{:016x}", checksum({reinterpret_cast<const std::uint8_t*>(text.data()),
                           text.size()}));
}

void round_numbers(Json& json) {
  if (json.is_number_float()) {
    json = fmt::format("{:.5e}", json.get<double>());
  } else if (json.is_structured()) {
    for (Json& each : json) round_numbers(each);
  }
}

}  // namespace

DescriptionMarks marks_of(const DataDescription& data) {
  Json json = Json::parse(to_json(data));
  round_numbers(json);
  DescriptionMarks marks;
  for (const char* key : kMarked) marks[key] = mark_of(json.at(key));
  return marks;
}

std::vector<std::string> differing(const DescriptionMarks& a,
                                   const DescriptionMarks& b) {
  std::vector<std::string> keys;
  for (const auto& [key, mark] : a) {
    const auto other = b.find(key);
    if (other != b.end() && other->second != mark) keys.push_back(key);
  }
  return keys;
}

void check_marks(const DescriptionMarks& marks, const DataDescription& data,
                 std::string_view where) {
  const auto keys = differing(marks, marks_of(data));
  if (keys.empty()) return;
  throw Error(ErrorCode::kInvalidArgument, where,
              "was trained on other data than '{}' is here: {} differ",
              data.name(), fmt::join(keys, ", "))
      .hint(
          "give it the data that it was trained on (--data), or export it "
          "where they are: such a file predicts without data");
}

}  // namespace weft
