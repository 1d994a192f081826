// The sentences of parse trees as examples, for models that read a row of
// words.
//
// Threads: immutable once built.
#pragma once

#include "weft/data/dataset.h"
#include "weft/data/parse_tree.h"

namespace weft {

inline constexpr std::string_view kPaddingWord = "<pad>";

// What the parts of a set share: its words, by how often they occur in
// training, and the length of its longest sentence.
class SentenceBank {
 public:
  SentenceBank(const std::vector<ParseTree>& train, std::int64_t most_words);

  // Number 0 is <pad>, behind the end of a sentence, and 1 is <unk>, for words
  // that training does not have.
  const std::vector<std::string>& words() const { return words_; }

  enum class Examples {
    kSentences,  // each tree, by the label of its root
    kPhrases,    // each node of each tree, by its own
  };
  // The examples, which are padded by <pad>:
  //   text   i32[T]  its words; T varies up to most_words
  //   label  i32[]
  // `classes` says what the labels mean. No sentence is longer than most_words.
  DatasetRef dataset(const std::vector<ParseTree>& trees, Examples examples,
                     std::string name, std::vector<std::string> classes) const;

 private:
  std::vector<std::string> words_;
  std::int64_t most_words_;
};

// How many leaves a tree has.
std::int64_t count_leaves(const ParseTree& tree);

}  // namespace weft
