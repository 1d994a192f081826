// weft-bench convex --pipeline TEXT --memory true|false --rate R --law
// constant|falling --noise S --steps N --target T: sparse stochastic gradients
// of least squares by four workers, until the error is T of what it was, or for
// N steps. The optimum is known, and without noise all samples agree on it, so
// that a constant rate converges; features follow a power law, so that some
// coordinates matter more than others. Noise is what a step sees of each
// target, drawn anew, with a deviation of S. A falling rate is R / sqrt(1 + t /
// 100).
//
// "error" is that at the end, "floor" the mean over the last quarter of N
// steps.
//
// "worst" is the largest ratio, over all steps, of what is outstanding (the
// distance from what dense training would have applied) to the bound of
// Alistarh et al. ("The convergence of sparsified gradient methods", 2018,
// lemma 1), with its xi as measured.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <numeric>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/base/philox.h"
#include "weft/comm/codec/pipeline.h"

namespace weft::bench {
namespace {

constexpr std::size_t kSize = 1000;
constexpr std::size_t kSamples = 2000;
constexpr std::size_t kWorkers = 4;
constexpr std::size_t kBatch = 8;  // of each worker
constexpr double kPower = 0.5;
constexpr std::uint64_t kSeed = 1;

double norm(std::span<const double> values) {
  return std::sqrt(
      std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

std::vector<double> normals(std::uint32_t stream, std::size_t count) {
  const RandomStream random{kSeed, stream, 0};
  std::vector<double> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto words = random.block(i);
    result[i] = static_cast<double>(normal_from(words[0], words[1])[0]);
  }
  return result;
}

class LeastSquares {
 public:
  LeastSquares(const std::string& pipeline, bool has_memory, double rate,
               bool is_falling, double noise)
      : pipeline_(pipeline),
        rate_(rate),
        is_falling_(is_falling),
        noise_(noise),
        samples_(normals(0, kSamples * kSize)),
        optimum_(normals(1, kSize)),
        dense_(kSize),
        sparse_(kSize),
        memories_(kWorkers, std::vector<float>(has_memory ? kSize : 0)) {
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      samples_[i] *= std::pow(static_cast<double>(1 + i % kSize), -kPower);
    }
  }

  // The mean of the squared residuals, noise left out.
  double error() const {
    double total = 0;
    for (std::size_t row = 0; row < kSamples; ++row) {
      total += std::pow(residual(row), 2);
    }
    return total / static_cast<double>(kSamples);
  }

  // Outstanding over its bound, after one more step.
  double step() {
    std::vector<double> update(kSize);       // rate times the mean gradient
    std::vector<double> accumulated(kSize);  // mean of what may be sent
    std::vector<double> sent(kSize);
    std::vector<float> decoded(kSize);
    for (std::size_t worker = 0; worker < kWorkers; ++worker) {
      const std::vector<float> scaled = gradient(worker);
      std::vector<float>& memory = memories_[worker];
      for (std::size_t i = 0; i < kSize; ++i) {
        const double kept =
            memory.empty() ? 0.0 : static_cast<double>(memory[i]);
        update[i] += static_cast<double>(scaled[i]) / kWorkers;
        accumulated[i] += (kept + static_cast<double>(scaled[i])) / kWorkers;
      }
      const MessageId id{kSeed, 0, steps_, static_cast<std::uint32_t>(worker)};
      pipeline_.encode(scaled, memory, id, message_);
      pipeline_.decode(message_.bytes, id, decoded);
      for (std::size_t i = 0; i < kSize; ++i) {
        sent[i] += static_cast<double>(decoded[i]) / kWorkers;
      }
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      dense_[i] -= update[i];
      sparse_[i] -= sent[i];
    }
    ++steps_;
    return outstanding(update, accumulated, sent);
  }

  std::uint32_t steps() const { return steps_; }

 private:
  double residual(std::size_t row) const {
    const double* sample = &samples_[row * kSize];
    double sum = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      sum += sample[i] * (sparse_[i] - optimum_[i]);
    }
    return sum;
  }

  double rate() const {
    return is_falling_ ? rate_ / std::sqrt(1 + steps_ / 100.0) : rate_;
  }

  // Times the rate.
  std::vector<float> gradient(std::size_t worker) const {
    const RandomStream random{kSeed, static_cast<std::uint32_t>(2 + worker),
                              steps_};
    std::vector<double> sum(kSize);
    for (std::size_t i = 0; i < kBatch; ++i) {
      const std::size_t row = random.word(i) % kSamples;
      const double seen =
          residual(row) + noise_ * static_cast<double>(normal_from(
                                       random.word(kBatch + 2 * i),
                                       random.word(kBatch + 2 * i + 1))[0]);
      const double scale = rate() * seen / static_cast<double>(kBatch);
      for (std::size_t j = 0; j < kSize; ++j) {
        sum[j] += scale * samples_[row * kSize + j];
      }
    }
    return {sum.begin(), sum.end()};
  }

  double outstanding(std::span<const double> update,
                     std::span<const double> accumulated,
                     std::span<const double> sent) {
    const std::vector<float> rounded(accumulated.begin(), accumulated.end());
    selected_.clear();
    pipeline_.sparsifier()->select(rounded, {kSeed, 0, steps_, 0}, selected_);
    std::vector<double> missed(kSize);
    std::vector<double> apart(kSize);
    for (const std::uint32_t i : selected_) missed[i] = accumulated[i];
    for (std::size_t i = 0; i < kSize; ++i) {
      missed[i] -= sent[i];
      apart[i] = sparse_[i] - dense_[i];
    }
    const double length = norm(update);
    if (length == 0) return 0;
    const double gamma =
        std::sqrt(1 - static_cast<double>(selected_.size()) / kSize);
    bound_ = gamma * bound_ + gamma * length + norm(missed);
    return norm(apart) / bound_;
  }

  const Pipeline pipeline_;
  const double rate_;
  const bool is_falling_;
  const double noise_;
  std::vector<double> samples_;  // [kSamples, kSize]
  const std::vector<double> optimum_;
  std::vector<double> dense_;   // every gradient applied
  std::vector<double> sparse_;  // what was sent applied
  std::vector<std::vector<float>> memories_;
  std::vector<std::uint32_t> selected_;
  Message message_;
  double bound_ = 0;
  std::uint32_t steps_ = 0;
};

}  // namespace

void check_convex(const WorkerOptions& options) {
  constexpr std::uint32_t kSteps = 25;  // between measurements of the error
  constexpr double kDiverged = 1e3;
  const double target = std::stod(options.text("target"));
  LeastSquares problem(
      options.text("pipeline"), options.text("memory") == "true",
      std::stod(options.text("rate")), options.text("law") == "falling",
      std::stod(options.text("noise")));
  const double start = problem.error();
  double error = 1;
  double worst = 0;
  std::vector<double> last;  // errors of the last quarter
  while (error > target && error < kDiverged &&
         problem.steps() < options.integer("steps")) {
    for (std::uint32_t i = 0; i < kSteps; ++i) {
      worst = std::max(worst, problem.step());
    }
    error = problem.error() / start;
    if (4 * problem.steps() > 3 * options.integer("steps")) {
      last.push_back(error);
    }
  }
  const double floor = last.empty() ? error
                                    : std::reduce(last.begin(), last.end()) /
                                          static_cast<double>(last.size());
  fmt::print("{}\n", Json{{"steps", problem.steps()},
                          {"error", error},
                          {"floor", floor},
                          {"worst", worst}}
                         .dump());
}

}  // namespace weft::bench
