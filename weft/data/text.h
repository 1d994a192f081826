// Text as words between white space, numbered by how often they occur; for
// language models with one <eos> at the end of each line.
//
// Threads: immutable once built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/data/dataset.h"

namespace weft {

inline constexpr std::string_view kEndOfLine = "<eos>";
inline constexpr std::string_view kUnknownWord = "<unk>";

// How often each word occurs.
using WordCounts = std::unordered_map<std::string_view, std::int64_t>;

// The words that occur at least `least` times, the most frequent first, equals
// in the order of their bytes.
std::vector<std::string> words_by_frequency(const WordCounts& counts,
                                            std::int64_t least = 1);

// The words of one line.
std::vector<std::string_view> split_words(std::string_view line);

// The words of a training text, the most frequent first, equals in the order
// of their bytes: the numbering of the published PTB models.
class Vocabulary {
 public:
  // Throws Error(kDataLoss) naming `where` and the byte for a zero byte, or
  // when there is no word at all.
  static Vocabulary build(std::string_view text, std::string_view where);
  // Numbers words by their places; of equal ones the first counts.
  explicit Vocabulary(std::vector<std::string> words);

  const std::vector<std::string>& words() const { return words_; }
  // The number of `word`, or -1.
  std::int32_t find(std::string_view word) const;

  // The numbers of a text's words. A word that is not known becomes <unk>;
  // without <unk> in the vocabulary it is an Error(kDataLoss) with the line.
  std::vector<std::int32_t> encode(std::string_view text,
                                   std::string_view where) const;

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

// Cuts `tokens` into `batch` streams of equal length and each stream into
// pieces of `steps` words: example b × batch + s is piece b of stream s, as
// (tokens i32[steps], label i32[steps]), a label being the next word. What
// does not fill a piece is left out, so read in order, `batch` at a time,
// the streams continue from batch to batch.
// Throws Error(kInvalidArgument) when the text is too short for one piece.
DatasetRef stream_dataset(std::vector<std::int32_t> tokens,
                          std::vector<std::string> words, std::int64_t batch,
                          std::int64_t steps, std::string_view where);

}  // namespace weft
