#include "weft/data/tree_bank.h"

#include <algorithm>
#include <unordered_map>

#include "weft/data/text.h"

namespace weft {
namespace {

using Numbers = std::unordered_map<std::string, std::int32_t>;

// Nodes are read from the last, which is the root, to the first: a right child
// then follows its parent.
class Trees final : public Dataset {
 public:
  Trees(std::vector<ParseTree> trees, const Numbers& numbers,
        std::vector<std::string> words, std::int64_t most_nodes,
        std::string name, std::vector<std::string> classes)
      : trees_(std::move(trees)), nodes_(static_cast<std::size_t>(most_nodes)) {
    name_ = std::move(name);
    size_ = static_cast<std::int64_t>(trees_.size());
    classes_ = std::move(classes);
    words_ = std::move(words);
    features_ = {{"tree", {DType::kI32, {most_nodes, 2}}},
                 {"label", {DType::kI32, {most_nodes}}}};
    for (const ParseTree& tree : trees_) {
      for (const auto& node : tree.nodes) {
        const auto found = numbers.find(node.word);
        // Word 0 is the unknown one; inner nodes have it too, and nobody reads
        // it.
        numbers_.push_back(found == numbers.end() ? 0 : found->second);
      }
      ends_.push_back(numbers_.size());
    }
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto number = static_cast<std::size_t>(rows[i]);
      const auto& nodes = trees_[number].nodes;
      const std::span tree{batch[0].as<std::int32_t>() + i * 2 * nodes_,
                           2 * nodes_};
      const std::span label{batch[1].as<std::int32_t>() + i * nodes_, nodes_};
      std::ranges::fill(tree, 0);
      // Trees are shorter than the table; nothing behind their end is read.
      std::ranges::fill(label, -1);
      for (std::size_t row = 0; row < nodes.size(); ++row) {
        const std::size_t n = nodes.size() - 1 - row;
        tree[2 * row] = numbers_[ends_[number] - 1 - row];
        // Rows run against the numbers of nodes, so a child lies as many rows
        // further as its number is smaller.
        if (nodes[n].left >= 0) {
          tree[2 * row + 1] = static_cast<std::int32_t>(n) - nodes[n].left;
        }
        label[row] = nodes[n].label;
      }
    }
  }

 private:
  std::vector<ParseTree> trees_;
  std::size_t nodes_;                  // rows that a table has
  std::vector<std::int32_t> numbers_;  // words of all nodes of all trees
  std::vector<std::size_t> ends_;      // where each tree's numbers end
};

}  // namespace

std::vector<std::string> words_of_trees(const std::vector<ParseTree>& trees) {
  WordCounts counts;
  for (const ParseTree& tree : trees) {
    for (const auto& node : tree.nodes) {
      if (!node.word.empty()) ++counts[node.word];
    }
  }
  return words_by_frequency(counts);
}

TreeBank::TreeBank(const std::vector<ParseTree>& train, std::int64_t most_nodes)
    : words_(words_of_trees(train)), most_nodes_(most_nodes) {
  words_.emplace(words_.begin(), kUnknownWord);
}

DatasetRef TreeBank::dataset(std::vector<ParseTree> trees, std::string name,
                             std::vector<std::string> classes) const {
  Numbers numbers;
  // A word's number is its place; the unknown one is first, and so 0.
  for (const std::string& word : words_) {
    numbers.emplace(word, static_cast<std::int32_t>(numbers.size()));
  }
  for (const ParseTree& tree : trees) {
    WEFT_CHECK(std::ssize(tree.nodes) <= most_nodes_);
  }
  return std::make_shared<Trees>(std::move(trees), numbers, words_, most_nodes_,
                                 std::move(name), std::move(classes));
}

}  // namespace weft
