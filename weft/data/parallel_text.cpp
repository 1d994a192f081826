#include "weft/data/parallel_text.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

using Sentences = std::vector<std::vector<std::int32_t>>;

// Calls body(line) for each line. The end of the text ends a line too.
template <class Body>
void for_each_line(std::string_view text, Body&& body) {
  while (!text.empty()) {
    // npos is the largest number, so that the minimum is the end of the text.
    const std::size_t end = std::min(text.find('\n'), text.size());
    body(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Sentences encode_lines(const Vocabulary& vocabulary, std::string_view text) {
  Sentences sentences;
  for_each_line(text, [&](std::string_view line) {
    sentences.push_back(encode_sentence(vocabulary, line));
  });
  return sentences;
}

std::int64_t longest(const Sentences& sentences) {
  std::size_t most = 0;
  for (const auto& sentence : sentences) most = std::max(most, sentence.size());
  return static_cast<std::int64_t>(most);
}

class Translations final : public Dataset {
 public:
  Translations(Sentences source, Sentences target, std::string name,
               std::vector<std::string> source_words,
               std::vector<std::string> target_words,
               std::int64_t longest_source, std::int64_t longest_target)
      : source_(std::move(source)), target_(std::move(target)) {
    name_ = std::move(name);
    size_ = static_cast<std::int64_t>(source_.size());
    words_ = std::move(source_words);
    classes_ = std::move(target_words);
    // The sizes are the most that may come; axis 0 varies, and batches are as
    // long as their longest sentence (data/batch_maker.cpp).
    features_ = {{"source", {DType::kI32, {longest_source}}, {0}},
                 {"target", {DType::kI32, {longest_target}}, {0}}};
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      write(source_[row], batch[0], i);
      write(target_[row], batch[1], i);
    }
  }

  void measure(std::int64_t row, std::span<std::int64_t> sizes) const override {
    sizes[0] = std::ssize(source_[static_cast<std::size_t>(row)]);
    sizes[1] = std::ssize(target_[static_cast<std::size_t>(row)]);
  }

 private:
  static void write(const std::vector<std::int32_t>& sentence,
                    const TensorView& out, std::size_t row) {
    const std::span place{
        out.as<std::int32_t>() + row * static_cast<std::size_t>(out.shape()[1]),
        static_cast<std::size_t>(out.shape()[1])};
    // Buffers are used again and hold another batch's words.
    std::ranges::fill(place, kPadding);
    std::ranges::copy(sentence, place.begin());
  }

  Sentences source_;
  Sentences target_;
};

}  // namespace

std::vector<std::string> translation_words(std::string_view text,
                                           std::string_view where,
                                           std::int64_t least) {
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte {}: a zero byte; this is no text", zero);
  }
  // The order is that of the constants kPadding, kSentenceBegin and so on.
  std::vector<std::string> words = {"<pad>", "<bos>", std::string(kEndOfLine),
                                    std::string(kUnknownWord)};
  WordCounts counts;
  for_each_line(text, [&](std::string_view line) {
    for (const std::string_view word : split_words(line)) ++counts[word];
  });
  if (counts.empty()) {
    throw Error(ErrorCode::kDataLoss, where, "byte 0: no words");
  }
  // A text that has such words itself means the same by them.
  for (const std::string& word : words) counts.erase(word);
  for (std::string& word : words_by_frequency(counts, least)) {
    words.push_back(std::move(word));
  }
  return words;
}

std::vector<std::int32_t> encode_sentence(const Vocabulary& vocabulary,
                                          std::string_view line) {
  std::vector<std::int32_t> numbers;
  for (const std::string_view word : split_words(line)) {
    const std::int32_t number = vocabulary.find(word);
    // What a text calls <pad> or <bos> is nothing that may stand in a sentence.
    numbers.push_back(number < kUnknown ? kUnknown : number);
  }
  numbers.push_back(kSentenceEnd);
  return numbers;
}

ParallelText::ParallelText(const Vocabulary& source,
                           std::string_view source_text,
                           const Vocabulary& target,
                           std::string_view target_text,
                           std::string_view source_where,
                           std::string_view target_where)
    : source_(encode_lines(source, source_text)),
      target_(encode_lines(target, target_text)),
      source_words_(source.words()),
      target_words_(target.words()) {
  if (source_.empty()) {
    throw Error(ErrorCode::kDataLoss, source_where, "no lines");
  }
  if (source_.size() != target_.size()) {
    throw Error(ErrorCode::kDataLoss, target_where,
                "{} lines, where {} has {}: line n of one must translate line "
                "n of the other",
                target_.size(), source_where, source_.size());
  }
  // The decoder is told <bos> before its first word, and so on: what it tells
  // is the same sentence, one word later.
  for (auto& sentence : target_) {
    sentence.insert(sentence.begin(), kSentenceBegin);
  }
  longest_source_ = longest(source_);
  longest_target_ = longest(target_);
}

DatasetRef ParallelText::dataset(std::string name, std::int64_t longest_source,
                                 std::int64_t longest_target) && {
  WEFT_CHECK(longest_source >= longest_source_ &&
             longest_target >= longest_target_);
  return std::make_shared<Translations>(
      std::move(source_), std::move(target_), std::move(name),
      std::move(source_words_), std::move(target_words_), longest_source,
      longest_target);
}

}  // namespace weft
