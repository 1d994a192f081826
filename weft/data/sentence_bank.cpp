#include "weft/data/sentence_bank.h"

#include <algorithm>

#include "weft/data/text.h"
#include "weft/data/tree_bank.h"

namespace weft {
namespace {

constexpr std::int32_t kPaddingNumber = 0;
constexpr std::int32_t kUnknownNumber = 1;

// Words that follow each other in the list of all words.
struct WordRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int32_t label = 0;
};

class LabelledSentences final : public Dataset {
 public:
  LabelledSentences(std::vector<std::int32_t> numbers,
                    std::vector<WordRange> sentences, std::int64_t most_words,
                    std::string name, std::vector<std::string> words,
                    std::vector<std::string> classes)
      : numbers_(std::move(numbers)), sentences_(std::move(sentences)) {
    name_ = std::move(name);
    size_ = std::ssize(sentences_);
    words_ = std::move(words);
    classes_ = std::move(classes);
    features_ = {{"text", {DType::kI32, {most_words}}, {0}},
                 {"label", {DType::kI32, {}}}};
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    const auto room = static_cast<std::size_t>(batch[0].shape()[1]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const WordRange& sentence = sentences_[static_cast<std::size_t>(rows[i])];
      const std::span place{batch[0].as<std::int32_t>() + i * room, room};
      // Buffers are used again and hold another batch's words.
      std::ranges::fill(place, kPaddingNumber);
      std::ranges::copy(std::span(numbers_).subspan(
                            sentence.begin, sentence.end - sentence.begin),
                        place.begin());
      batch[1].as<std::int32_t>()[i] = sentence.label;
    }
  }

  void measure(std::int64_t row, std::span<std::int64_t> sizes) const override {
    const WordRange& sentence = sentences_[static_cast<std::size_t>(row)];
    sizes[0] = static_cast<std::int64_t>(sentence.end - sentence.begin);
  }

 private:
  std::vector<std::int32_t> numbers_;  // phrases share those of their tree
  std::vector<WordRange> sentences_;
};

}  // namespace

std::int64_t count_leaves(const ParseTree& tree) {
  return std::ranges::count_if(
      tree.nodes, [](const ParseTree::Node& node) { return node.left < 0; });
}

SentenceBank::SentenceBank(const std::vector<ParseTree>& train,
                           std::int64_t most_words)
    : words_(words_of_trees(train)), most_words_(most_words) {
  words_.insert(words_.begin(),
                {std::string(kPaddingWord), std::string(kUnknownWord)});
}

DatasetRef SentenceBank::dataset(const std::vector<ParseTree>& trees,
                                 Examples examples, std::string name,
                                 std::vector<std::string> classes) const {
  const Vocabulary vocabulary(words_);
  std::vector<std::int32_t> numbers;
  std::vector<WordRange> sentences;
  for (const ParseTree& tree : trees) {
    WEFT_CHECK(count_leaves(tree) <= most_words_);
    // Children stand before their parents, so that the leaves come in the order
    // of the sentence, and each node's follow each other.
    std::vector<std::size_t> begins;
    for (const auto& node : tree.nodes) {
      const bool is_leaf = node.left < 0;
      begins.push_back(is_leaf ? numbers.size()
                               : begins[static_cast<std::size_t>(node.left)]);
      if (is_leaf) {
        const std::int32_t number = vocabulary.find(node.word);
        numbers.push_back(number < 0 ? kUnknownNumber : number);
      }
      if (examples == Examples::kPhrases || &node == &tree.nodes.back()) {
        sentences.push_back({begins.back(), numbers.size(), node.label});
      }
    }
  }
  return std::make_shared<LabelledSentences>(
      std::move(numbers), std::move(sentences), most_words_, std::move(name),
      words_, std::move(classes));
}

}  // namespace weft
