// Small parse trees in bracket form, made up.
#pragma once

#include <algorithm>
#include <fmt/core.h>
#include <random>
#include <string>

#include "tests/support/batches.h"

#include "weft/data/tree_bank.h"

namespace weft::test {

// `count` trees of one to `most_leaves` words, a line each. Words w0 … w8 say
// from -4 to 4; a label from 0 to 4 is the sum of the words below, halved and
// clamped.
inline std::string tree_lines(int count, int most_leaves, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto label_of = [](int value) {
    return std::clamp(value / 2, -2, 2) + 2;
  };
  struct Part {
    std::string text;
    int value;
  };
  std::string lines;
  for (int i = 0; i < count; ++i) {
    std::vector<Part> parts(1 +
                            random() % static_cast<std::size_t>(most_leaves));
    for (Part& part : parts) {
      const int word = static_cast<int>(random() % 9);
      part = {fmt::format("({} w{})", label_of(word - 4), word), word - 4};
    }
    while (parts.size() > 1) {
      const auto at =
          static_cast<std::ptrdiff_t>(random() % (parts.size() - 1));
      Part& left = parts[static_cast<std::size_t>(at)];
      const Part& right = parts[static_cast<std::size_t>(at) + 1];
      left.value += right.value;
      left.text = fmt::format("({} {} {})", label_of(left.value), left.text,
                              right.text);
      parts.erase(parts.begin() + at + 1);
    }
    lines += parts[0].text + "\n";
  }
  return lines;
}

// The trees of a text as a data set of five classes.
inline DatasetRef tree_data(const std::string& lines) {
  auto trees = parse_trees(lines, "test", 5);
  std::size_t most = 1;
  for (const ParseTree& tree : trees) most = std::max(most, tree.nodes.size());
  const TreeBank bank(trees, static_cast<std::int64_t>(most));
  return bank.dataset(std::move(trees), "trees", {"--", "-", "0", "+", "++"});
}

// All trees of a data set: the tables and the labels.
inline std::vector<Tensor> tree_batch(const Dataset& data) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(data.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<std::int64_t>(i);
  }
  return read_rows(data, rows);
}

}  // namespace weft::test
