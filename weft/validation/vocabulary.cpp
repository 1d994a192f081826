#include "weft/validation/vocabulary.h"

#include "weft/validation/value_counts.h"

namespace weft::validation {
namespace {

bool is_of_word(char c) {
  const char small = static_cast<char>(c | 32);
  return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') ||
         c == '\'' || static_cast<unsigned char>(c) > 127;
}

std::string folded(std::string_view word) {
  std::string text(word);
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  }
  return text;
}

template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  text = text.substr(0, kMostKeptBytes);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_of_word(text[end])) ++end;
    if (end > at) visit(folded(text.substr(at, end - at)));
    at = end + 1;
  }
}

}  // namespace

Vocabulary::Vocabulary(const std::vector<std::string>& words) {
  for (const std::string& word : words) words_.insert(folded(word));
}

WordCounts Vocabulary::count(std::string_view text) const {
  WordCounts counts;
  for_each_word(text, [&](const std::string& word) {
    ++counts.words;
    counts.known += words_.contains(word) ? 1 : 0;
  });
  return counts;
}

std::vector<std::string> Vocabulary::unknown(std::string_view text) const {
  std::vector<std::string> strangers;
  for_each_word(text, [&](const std::string& word) {
    if (!words_.contains(word)) strangers.push_back(word);
  });
  return strangers;
}

}  // namespace weft::validation
