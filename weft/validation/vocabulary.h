// Which words of texts are in a list, such as that of the words that a model
// knows: their share is a text's coverage.
//
// A word is a run of letters, digits, apostrophes and bytes beyond ASCII; ASCII
// letters count alike whether they are capitals or not. Words are looked for in
// the first kMostKeptBytes of a value (value_counts.h), so that its count is
// the same whoever has cut it.
//
// Threads: immutable; WordCounts is a value type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace weft::validation {

struct WordCounts {
  std::uint64_t words = 0;
  std::uint64_t known = 0;  // of them

  // Where there are no words, none is unknown.
  double coverage() const {
    return words == 0 ? 1
                      : static_cast<double>(known) / static_cast<double>(words);
  }
  void add(const WordCounts& other, std::uint64_t count = 1) {
    words += count * other.words;
    known += count * other.known;
  }
};

class Vocabulary {
 public:
  explicit Vocabulary(const std::vector<std::string>& words);

  WordCounts count(std::string_view text) const;
  // The words of the text that are not in it, in their order.
  std::vector<std::string> unknown(std::string_view text) const;

 private:
  std::unordered_set<std::string> words_;
};

}  // namespace weft::validation
