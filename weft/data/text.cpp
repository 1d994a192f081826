#include "weft/data/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft {
namespace {

// A line feed is none of these, as the end of a line is a word of its own.
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// Calls body(word, line) for each word and for the end of each line.
template <class Body>
void for_each_word(std::string_view text, Body&& body) {
  std::size_t line = 1;
  std::size_t begin = 0;
  // The end of the text ends a word too, so i may be one behind the last byte.
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool is_end = i == text.size();
    if (!is_end && text[i] != '\n' && !is_space(text[i])) continue;
    if (i > begin) body(text.substr(begin, i - begin), line);
    begin = i + 1;
    // A last line without line feed is a line too.
    const bool ends_line =
        is_end ? i > 0 && text[i - 1] != '\n' : text[i] == '\n';
    if (ends_line) body(kEndOfLine, line++);
  }
}

class Streams final : public Dataset {
 public:
  Streams(std::vector<std::int32_t> tokens, std::vector<std::string> words,
          std::int64_t batch, std::int64_t steps, std::string_view where)
      : tokens_(std::move(tokens)), steps_(steps) {
    if (batch < 1 || steps < 1) {
      throw Error(ErrorCode::kInvalidArgument, where,
                  "cannot be read as {} streams in pieces of {} words", batch,
                  steps);
    }
    const auto count = static_cast<std::int64_t>(tokens_.size());
    // What would not fill all streams equally is left out.
    stream_length_ = count / batch;
    // The last word of a stream has no next word.
    const std::int64_t pieces = (stream_length_ - 1) / steps;
    if (pieces < 1) {
      throw Error(ErrorCode::kInvalidArgument, where,
                  "{} words are too few for {} streams of {} words", count,
                  batch, steps + 1)
          .hint("use a smaller train.batch or train.steps");
    }
    name_ = where;
    lanes_ = batch;
    size_ = pieces * batch;
    classes_ = std::move(words);
    features_ = {{"tokens", {DType::kI32, {steps}}},
                 {"label", {DType::kI32, {steps}}}};
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    auto* tokens = batch[0].as<std::int32_t>();
    auto* labels = batch[1].as<std::int32_t>();
    const auto steps = static_cast<std::size_t>(steps_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      // Place i of every batch is stream i, and the next batch has its next
      // piece: what a model carries from batch to batch fits.
      const std::int64_t stream = rows[i] % lanes_;
      const std::int64_t piece = rows[i] / lanes_;
      const std::int32_t* from =
          tokens_.data() + stream * stream_length_ + piece * steps_;
      std::memcpy(tokens + i * steps, from, steps * sizeof *from);
      // The label of a word is the word after it.
      std::memcpy(labels + i * steps, from + 1, steps * sizeof *from);
    }
  }

 private:
  std::vector<std::int32_t> tokens_;
  std::int64_t steps_;
  std::int64_t stream_length_ = 0;
};

}  // namespace

std::vector<std::string> words_by_frequency(const WordCounts& counts,
                                            std::int64_t least) {
  std::vector<std::pair<std::string_view, std::int64_t>> order;
  for (const auto& each : counts) {
    if (each.second >= least) order.push_back(each);
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    // Frequent words have small numbers; ties go by spelling, as the order of a
    // hash table means nothing.
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::string> words;
  for (const auto& [word, count] : order) words.emplace_back(word);
  return words;
}

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < line.size();) {
    std::size_t end = begin;
    while (end < line.size() && !is_space(line[end])) ++end;
    if (end > begin) words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Vocabulary Vocabulary::build(std::string_view text, std::string_view where) {
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte {}: a zero byte; this is no text", zero);
  }
  WordCounts counts;
  for_each_word(text,
                [&](std::string_view word, std::size_t) { ++counts[word]; });
  if (counts.empty()) {
    throw Error(ErrorCode::kDataLoss, where, "byte 0: no words");
  }
  return Vocabulary(words_by_frequency(counts));
}

Vocabulary::Vocabulary(std::vector<std::string> words)
    : words_(std::move(words)) {
  // A word that is listed twice keeps its first number.
  for (std::size_t i = 0; i < words_.size(); ++i) {
    numbers_.emplace(words_[i], static_cast<std::int32_t>(i));
  }
}

std::int32_t Vocabulary::find(std::string_view word) const {
  const auto found = numbers_.find(std::string(word));
  return found == numbers_.end() ? -1 : found->second;
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text,
                                             std::string_view where) const {
  const std::int32_t unknown = find(kUnknownWord);
  std::vector<std::int32_t> tokens;
  for_each_word(text, [&](std::string_view word, std::size_t line) {
    std::int32_t number = find(word);
    if (number < 0) number = unknown;
    if (number < 0) {
      throw Error(ErrorCode::kDataLoss, fmt::format("{}:{}", where, line),
                  fmt::format("'{}' does not occur in the training text, "
                              "which has no <unk> either",
                              word.substr(0, 40)));
    }
    tokens.push_back(number);
  });
  return tokens;
}

DatasetRef stream_dataset(std::vector<std::int32_t> tokens,
                          std::vector<std::string> words, std::int64_t batch,
                          std::int64_t steps, std::string_view where) {
  return std::make_shared<Streams>(std::move(tokens), std::move(words), batch,
                                   steps, where);
}

}  // namespace weft
