#include "weft/data/tree_bank.h"

#include <algorithm>
#include <unordered_map>

#include "weft/data/text.h"

namespace weft {
namespace {

using Numbers = std::unordered_map<std::string, std::int32_t>;

class Trees final : public Dataset {
 public:
  Trees(std::vector<ParseTree> trees, const Numbers& numbers,
        std::int64_t most_nodes, std::string name,
        std::vector<std::string> classes)
      : trees_(std::move(trees)), nodes_(static_cast<std::size_t>(most_nodes)) {
    name_ = std::move(name);
    size_ = static_cast<std::int64_t>(trees_.size());
    classes_ = std::move(classes);
    const TensorType table{DType::kI32, {most_nodes}};
    features_ = {{"word", table},
                 {"left", table},
                 {"right", table},
                 {"root", {DType::kI32, {}}},
                 {"label", table}};
    for (const ParseTree& tree : trees_) {
      for (const auto& node : tree.nodes) {
        const auto found = numbers.find(node.word);
        words_.push_back(found == numbers.end() ? 0 : found->second);
      }
      ends_.push_back(words_.size());
    }
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto number = static_cast<std::size_t>(rows[i]);
      const auto& nodes = trees_[number].nodes;
      const auto table = [&](std::size_t feature) {
        return batch[feature].as<std::int32_t>() + i * nodes_;
      };
      const std::span left{table(1), nodes_};
      const std::span right{table(2), nodes_};
      const std::span label{table(4), nodes_};
      const std::span word{table(0), nodes_};
      const auto* own_words = words_.data() + ends_[number] - nodes.size();
      std::ranges::fill(word, 0);
      for (const auto& padded : {left, right, label}) {
        std::ranges::fill(padded, -1);
      }
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        word[n] = own_words[n];
        left[n] = nodes[n].left;
        right[n] = nodes[n].right;
        label[n] = nodes[n].label;
      }
      batch[3].as<std::int32_t>()[i] =
          static_cast<std::int32_t>(nodes.size()) - 1;
    }
  }

 private:
  std::vector<ParseTree> trees_;
  std::size_t nodes_;                // of a table
  std::vector<std::int32_t> words_;  // of all nodes of all trees
  std::vector<std::size_t> ends_;    // of each tree's words
};

}  // namespace

TreeBank::TreeBank(const std::vector<ParseTree>& train, std::int64_t most_nodes)
    : most_nodes_(most_nodes) {
  std::unordered_map<std::string_view, std::int64_t> counts;
  for (const ParseTree& tree : train) {
    for (const auto& node : tree.nodes) {
      if (!node.word.empty()) ++counts[node.word];
    }
  }
  std::vector<std::pair<std::string_view, std::int64_t>> order(counts.begin(),
                                                               counts.end());
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  words_.emplace_back(kUnknownWord);
  for (const auto& [word, count] : order) words_.emplace_back(word);
}

DatasetRef TreeBank::dataset(std::vector<ParseTree> trees, std::string name,
                             std::vector<std::string> classes) const {
  Numbers numbers;
  for (const std::string& word : words_) {
    numbers.emplace(word, static_cast<std::int32_t>(numbers.size()));
  }
  for (const ParseTree& tree : trees) {
    WEFT_CHECK(std::ssize(tree.nodes) <= most_nodes_);
  }
  return std::make_shared<Trees>(std::move(trees), numbers, most_nodes_,
                                 std::move(name), std::move(classes));
}

}  // namespace weft
