// Sentences and their translations: two texts of which line n of one translates
// line n of the other.
//
// Threads: immutable once built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/data/dataset.h"
#include "weft/data/text.h"

namespace weft {

// The first words of every vocabulary of translation, by number.
inline constexpr std::int32_t kPadding = 0;        // <pad>, behind the end
inline constexpr std::int32_t kSentenceBegin = 1;  // <bos>
inline constexpr std::int32_t kSentenceEnd = 2;    // <eos>
inline constexpr std::int32_t kUnknown = 3;        // <unk>

// Those four, then the words of `text` that occur at least `least` times, by
// frequency. Throws Error(kDataLoss) naming `where` for a zero byte, or when
// there is no word at all.
std::vector<std::string> translation_words(std::string_view text,
                                           std::string_view where,
                                           std::int64_t least);

// The numbers of a sentence's words, then <eos>.
std::vector<std::int32_t> encode_sentence(const Vocabulary& vocabulary,
                                          std::string_view line);

// The sentences of both texts, line by line; a last line may lack its line
// feed.
class ParallelText {
 public:
  // `where` are the two files. Throws Error(kDataLoss) for texts without a
  // line, or of different numbers of lines.
  ParallelText(const Vocabulary& source, std::string_view source_text,
               const Vocabulary& target, std::string_view target_text,
               std::string_view source_where, std::string_view target_where);

  // The length of the longest sentence, with what an example adds to it.
  std::int64_t longest_source() const { return longest_source_; }
  std::int64_t longest_target() const { return longest_target_; }

  // The pairs as examples, padded by <pad>:
  //   source  i32[T]  words <eos>
  //   target  i32[U]  <bos> words <eos>
  // Its words() are the source's, its classes() the target's. T and U vary, up
  // to those that are given.
  DatasetRef dataset(std::string name, std::int64_t longest_source,
                     std::int64_t longest_target) &&;

 private:
  using Sentences = std::vector<std::vector<std::int32_t>>;

  Sentences source_;
  Sentences target_;
  std::int64_t longest_source_ = 0;
  std::int64_t longest_target_ = 0;
  std::vector<std::string> source_words_;
  std::vector<std::string> target_words_;
};

}  // namespace weft
