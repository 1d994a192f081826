#include "weft/data/character_text.h"

#include <algorithm>

#include "weft/data/text.h"

namespace weft {
namespace {

std::vector<std::string> characters_of(std::string_view text) {
  WordCounts counts;
  for (std::size_t i = 0; i < text.size(); ++i) ++counts[text.substr(i, 1)];
  return words_by_frequency(counts);
}

std::vector<std::int32_t> encode(const Vocabulary& vocabulary,
                                 std::string_view text) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::int32_t number = vocabulary.find(text.substr(i, 1));
    numbers.push_back(number >= 0 ? number : vocabulary.find(kUnknownWord));
  }
  return numbers;
}

}  // namespace

DatasetSplits character_splits(std::string_view text, const std::string& where,
                               const DataRequest& request) {
  const std::size_t valid = text.size() * 18 / 20;
  const std::size_t test = text.size() * 19 / 20;
  std::vector<std::string> characters = characters_of(text.substr(0, valid));
  const bool are_all_known = std::ranges::all_of(
      text.substr(valid), [known = Vocabulary(characters)](const char& c) {
        return known.find({&c, 1}) >= 0;
      });
  if (!are_all_known) characters.emplace_back(kUnknownWord);
  const Vocabulary vocabulary(std::move(characters));
  const auto part = [&](std::size_t begin, std::size_t end) {
    return stream_dataset(encode(vocabulary, text.substr(begin, end - begin)),
                          vocabulary.words(), request.batch, request.steps,
                          where);
  };
  return {.train = part(0, valid),
          .test = part(test, text.size()),
          .valid = part(valid, test)};
}

}  // namespace weft
