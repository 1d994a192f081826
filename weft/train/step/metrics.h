// What a step measures: sums over predictions, and the numbers that people read
// of them.
//
// Threads: value types.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// A sum over predictions, and how many they are.
struct Ratio {
  double sum = 0;
  double count = 0;

  double mean() const { return count > 0 ? sum / count : kNotMeasured; }
};

// The measures of several batches, in the objective's order; one of several
// numbers has as many ratios.
class MeasureSums {
 public:
  MeasureSums() = default;
  explicit MeasureSums(std::size_t measures) : ratios_(measures) {}

  std::vector<Ratio>& ratios() { return ratios_; }
  const std::vector<Ratio>& ratios() const { return ratios_; }

  // Nothing was added yet where there are no ratios.
  void add(const MeasureSums& other) {
    if (ratios_.empty()) ratios_.resize(other.ratios_.size());
    for (std::size_t i = 0; i < ratios_.size(); ++i) {
      ratios_[i].sum += other.ratios_[i].sum;
      ratios_[i].count += other.ratios_[i].count;
    }
  }
  double mean(std::size_t i) const {
    return i < ratios_.size() ? ratios_[i].mean() : kNotMeasured;
  }
  // The mean of the loss, which is the first measure.
  double loss() const { return mean(0); }

 private:
  std::vector<Ratio> ratios_;
};

// What an objective measures, as a task declares it: one number, or several
// that are told together, as the bins of a histogram are.
struct MeasureDef {
  std::string name;
  std::int64_t size = 1;
};

// A metric as a task declares it.
struct MetricDef {
  std::string name;  // "accuracy"
  // Which ratio it is the mean of; several metrics may tell the same one.
  std::size_t measure = 0;
  bool is_higher_better = false;
  int digits = 4;  // behind the point, for people
  // What is told in place of a mean: a function of all measures, as a
  // perplexity is the exponential of a loss, and an area under a curve is one
  // of two histograms. Null: the mean itself.
  double (*of)(const MeasureSums&) = nullptr;
};

// What is told of predictions as a whole, and is no mean over them: a BLEU.
struct PredictionScore {
  MetricDef metric;  // whose measure means nothing here
  double value = kNotMeasured;
};

// Metrics by name, in the task's order; empty where nothing was measured.
class Scores {
 public:
  Scores() = default;
  Scores(const std::vector<MetricDef>& metrics, const MeasureSums& sums);

  void set(std::string_view name, double value);
  // kNotMeasured for a name that is not there.
  double get(std::string_view name) const;
  double loss() const { return get("loss"); }
  bool is_measured() const { return std::isfinite(loss()); }
  const std::vector<std::pair<std::string, double>>& all() const {
    return values_;
  }

 private:
  std::vector<std::pair<std::string, double>> values_;
};

// "accuracy 0.9944".
std::string metric_text(const MetricDef& metric, const Scores& scores);

}  // namespace weft
