// BLEU: how many short runs of words translations share with those of people
// (Papineni et al., "BLEU: a method for automatic evaluation of machine
// translation", 2002), of a whole text, with one reference for each sentence.
//
// Threads: caller synchronises.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace weft {

// Counts over a text; words are numbers that are equal where the words are.
class BleuCounts {
 public:
  static constexpr std::size_t kLongest = 4;  // words in a run

  void add(std::span<const std::int32_t> translation,
           std::span<const std::int32_t> reference);

  // It is between 0 and 100: the geometric mean of the precisions of runs of
  // one to four words, times exp(1 - reference words / words) if there are
  // fewer words than in the references. As sacreBLEU has it (Post, "A call for
  // clarity in reporting BLEU scores", 2018): where no run of a length is
  // shared, each such length halves a precision of one run further; 0 where no
  // word is shared, or the text has no run of four words.
  double score() const;

 private:
  std::array<std::int64_t, kLongest> shared_ = {};  // runs, by their length
  std::array<std::int64_t, kLongest> all_ = {};     // in the translations
  std::int64_t words_ = 0;
  std::int64_t reference_words_ = 0;
};

}  // namespace weft
