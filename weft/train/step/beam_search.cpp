#include "weft/train/step/beam_search.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

using Words = std::vector<std::int32_t>;

// A beginning: what it has cost so far.
struct Beginning {
  Words words;
  double log_probability = 0;
};

// A beginning and the word that would come next.
struct Extension {
  std::size_t from;
  std::int32_t word;
  double log_probability;

  // The order of equals is settled, so that every machine finds the same.
  bool operator<(const Extension& other) const {
    if (log_probability != other.log_probability) {
      return log_probability > other.log_probability;
    }
    return from != other.from ? from < other.from : word < other.word;
  }
};

// The search for one sequence.
class Beam {
 public:
  explicit Beam(const BeamOptions& options) : options_(&options) {
    beginnings_.push_back({{}, 0});
  }

  bool is_done() const { return beginnings_.empty(); }

  // The beginnings as rows of `length` words, options.width of them.
  void write(std::span<std::int32_t> rows, std::int64_t length) const {
    // Rows of beginnings that are not there are filled, too: all searches have
    // one shape.
    std::ranges::fill(rows, options_->first_word);
    for (std::size_t i = 0; i < beginnings_.size(); ++i) {
      std::ranges::copy(
          beginnings_[i].words,
          rows.begin() + static_cast<std::int64_t>(i) * length + 1);
    }
  }

  // `next` has a row of log probabilities for each beginning.
  void extend(const float* next, std::int64_t words) {
    best_.clear();
    for (std::size_t i = 0; i < beginnings_.size(); ++i) {
      const float* row = next + static_cast<std::int64_t>(i) * words;
      finish(beginnings_[i], row[options_->last_word]);
      for (std::int64_t word = 0; word < words; ++word) {
        consider({i, static_cast<std::int32_t>(word),
                  beginnings_[i].log_probability + row[word]});
      }
    }
    take_best();
    stop_if_hopeless();
  }

  std::vector<Hypothesis> finished() && { return std::move(finished_); }

 private:
  double score(double log_probability, std::size_t length) const {
    return log_probability /
           std::pow(static_cast<double>(length), options_->length_penalty);
  }

  // Every beginning could end here.
  void finish(const Beginning& beginning, double end) {
    Hypothesis hypothesis{beginning.words, beginning.log_probability + end, 0};
    hypothesis.score =
        score(hypothesis.log_probability, hypothesis.words.size() + 1);
    const auto place =
        std::ranges::upper_bound(finished_, hypothesis.score,
                                 std::ranges::greater(), &Hypothesis::score);
    finished_.insert(place, std::move(hypothesis));
    if (finished_.size() > width()) finished_.pop_back();
  }

  // Keeps the best extensions as a heap whose top is the worst of them.
  void consider(const Extension& extension) {
    if (best_.size() == width() && !(extension < best_.front())) return;
    if (extension.word == options_->last_word ||
        std::ranges::count(options_->never, extension.word) > 0) {
      return;
    }
    if (best_.size() == width()) {
      std::pop_heap(best_.begin(), best_.end());
      best_.pop_back();
    }
    best_.push_back(extension);
    std::push_heap(best_.begin(), best_.end());
  }

  void take_best() {
    std::sort(best_.begin(), best_.end());
    std::vector<Beginning> extended;
    for (const Extension& extension : best_) {
      Words words = beginnings_[extension.from].words;
      words.push_back(extension.word);
      extended.push_back({std::move(words), extension.log_probability});
    }
    beginnings_ = std::move(extended);
  }

  // Words only cost, so a beginning comes to nothing better than what it is at
  // with the length for which the penalty forgives most.
  void stop_if_hopeless() {
    if (beginnings_.empty()) return;
    const auto length = std::ssize(beginnings_.front().words);
    const double best = beginnings_.front().log_probability;
    const std::int64_t longest =
        std::min(length + options_->look_ahead, options_->most_words);
    if (length >= options_->most_words ||
        (finished_.size() == width() &&
         score(best, static_cast<std::size_t>(longest)) <=
             finished_.back().score)) {
      beginnings_.clear();
    }
  }

  std::size_t width() const {
    return static_cast<std::size_t>(options_->width);
  }

  const BeamOptions* options_;
  std::vector<Beginning> beginnings_;  // the best first
  std::vector<Hypothesis> finished_;   // the best first
  std::vector<Extension> best_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(std::int64_t count,
                                                 const BeamOptions& options,
                                                 const NextWords& next) {
  WEFT_CHECK(options.width >= 1 && options.most_words >= 1);
  std::vector<Beam> beams(static_cast<std::size_t>(count), Beam(options));
  std::vector<std::int32_t> rows;
  for (std::int64_t length = 1;
       std::ranges::any_of(beams, [](const Beam& b) { return !b.is_done(); });
       ++length) {
    const auto of_one = static_cast<std::size_t>(options.width * length);
    rows.resize(beams.size() * of_one);
    for (std::size_t i = 0; i < beams.size(); ++i) {
      beams[i].write(std::span(rows).subspan(i * of_one, of_one), length);
    }
    const Tensor probabilities = next(rows, length);
    const std::int64_t words = probabilities.shape().back();
    WEFT_CHECK(probabilities.shape() == Shape({count * options.width, words}));
    const float* row = probabilities.data<float>();
    for (Beam& beam : beams) {
      // Sequences that are done keep their rows, so that the shape stays.
      if (!beam.is_done()) beam.extend(row, words);
      row += options.width * words;
    }
  }
  std::vector<std::vector<Hypothesis>> found;
  for (Beam& beam : beams) found.push_back(std::move(beam).finished());
  return found;
}

}  // namespace weft
