#include "weft/concurrent/sgd/linear_model.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

namespace weft::concurrent {
namespace {

// The streams of Philox that are ours.
constexpr std::uint32_t kOrderStream = 0x5cd;

// d loss / d y.
template <class Number>
Number slope(LinearLoss loss, Number target, Number y) {
  switch (loss) {
    case LinearLoss::kLogistic:
      return -target / (1 + std::exp(target * y));
    case LinearLoss::kHinge:
      return target * y < 1 ? -target : Number{0};
    case LinearLoss::kSquared:
      break;
  }
  return y - target;
}

double loss_of(LinearLoss loss, double target, double y) {
  switch (loss) {
    case LinearLoss::kLogistic: {
      const double margin = target * y;
      // exp() of what is positive could overflow.
      return margin > 0 ? std::log1p(std::exp(-margin))
                        : std::log1p(std::exp(margin)) - margin;
    }
    case LinearLoss::kHinge:
      return std::max(0.0, 1 - target * y);
    case LinearLoss::kSquared:
      break;
  }
  return (y - target) * (y - target) / 2;
}

void check_rows(const SparseRows& rows, const LinearModelOptions& options) {
  const auto fail = [](const std::string& message, const char* hint) {
    throw Error(ErrorCode::kInvalidArgument, "linear model", "{}", message)
        .hint(hint);
  };
  if (!(options.l2 >= 0) || std::isinf(options.l2))
    fail(fmt::format("l2 is {}", options.l2), "it must be at least 0");
  if (options.passes == 0) fail("0 passes", "there must be at least one");
  if (rows.rows() == 0) fail("there are no rows", "it learns from examples");
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const auto columns = rows.columns_of(row);
    if (columns.empty())
      fail(fmt::format("row {} has no entry", row + 1),
           "leave it out, or give all rows an entry that is 1");
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const bool ascends = k == 0 || columns[k - 1] < columns[k];
      if (columns[k] >= rows.width || !ascends)
        fail(fmt::format("row {} has column {} of {}", row + 1, columns[k],
                         rows.width),
             "columns ascend, each below the width");
    }
    const float target = rows.targets[row];
    if (options.loss != LinearLoss::kSquared && target != 1 && target != -1)
      fail(fmt::format("row {} has the target {}", row + 1, target),
           "this loss has two classes, -1 and 1; loss 'squared' takes any");
  }
}

template <class Number>
std::vector<Number> spread(double l2, const SparseRows& rows) {
  std::vector<Number> result;
  if (l2 == 0) return result;
  std::vector<std::uint64_t> counts(rows.width);
  for (const std::uint32_t column : rows.columns) ++counts[column];
  for (const std::uint64_t count : counts) {
    const double share =
        static_cast<double>(count) / static_cast<double>(rows.rows());
    result.push_back(static_cast<Number>(count == 0 ? 0 : l2 / share));
  }
  return result;
}

}  // namespace

const std::vector<std::string>& linear_loss_names() {
  static const std::vector<std::string> names = {"logistic", "hinge",
                                                 "squared"};
  return names;
}

LinearLoss linear_loss(std::string_view name) {
  const auto& names = linear_loss_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw Error(ErrorCode::kInvalidArgument, "linear model",
                "there is no loss '{}'", name)
        .hint("one of logistic, hinge, squared");
  return static_cast<LinearLoss>(found - names.begin());
}

template <class Number>
LinearModel<Number>::LinearModel(const SparseRows& rows,
                                 const LinearModelOptions& options)
    : rows_(rows), options_(options) {
  check_rows(rows, options);
  l2_ = spread<Number>(options.l2, rows);
  for (std::uint32_t pass = 0; pass < options.passes; ++pass) {
    orders_.emplace_back(rows.rows(), options.seed, kOrderStream, pass);
    tables_.emplace_back(Permutation::table_words(rows.rows()));
    orders_.back().tabulate(tables_.back());
  }
}

template <class Number>
std::uint64_t LinearModel<Number>::sample(std::uint64_t iteration) const {
  const std::size_t pass = iteration / rows_.rows() % orders_.size();
  return orders_[pass].by_table(iteration % rows_.rows(), tables_[pass]);
}

template <class Number>
void LinearModel<Number>::gradient(std::uint64_t sample,
                                   std::span<const Number> view,
                                   std::span<Number> result) const {
  const std::span<const float> values = rows_.values_of(sample);
  Number y = 0;
#pragma omp simd reduction(+ : y)
  for (std::size_t k = 0; k < values.size(); ++k)
    y += static_cast<Number>(values[k]) * view[k];
  const Number scale =
      slope(options_.loss, static_cast<Number>(rows_.targets[sample]), y);
  for (std::size_t k = 0; k < values.size(); ++k)
    result[k] = scale * static_cast<Number>(values[k]);
  if (l2_.empty()) return;
  const auto columns = rows_.columns_of(sample);
  for (std::size_t k = 0; k < columns.size(); ++k)
    result[k] += l2_[columns[k]] * view[k];
}

template <class Number>
void LinearModel<Number>::prefetch(std::uint64_t sample) const {
  constexpr std::size_t kPerLine = 64 / sizeof(std::uint32_t);
  const auto columns = rows_.columns_of(sample);
  const auto values = rows_.values_of(sample);
  for (std::size_t k = 0; k < columns.size(); k += kPerLine) {
    __builtin_prefetch(&columns[k]);
    __builtin_prefetch(&values[k]);
  }
}

template <class Number>
double LinearModel<Number>::loss(std::span<const Number> x) const {
  double sum = 0;
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    const auto columns = rows_.columns_of(row);
    const auto values = rows_.values_of(row);
    double y = 0;
    for (std::size_t k = 0; k < columns.size(); ++k)
      y += static_cast<double>(values[k]) * static_cast<double>(x[columns[k]]);
    sum += loss_of(options_.loss, static_cast<double>(rows_.targets[row]), y);
  }
  double squares = 0;
  if (options_.l2 > 0) {
    for (const Number each : x)
      squares += static_cast<double>(each) * static_cast<double>(each);
  }
  return sum / static_cast<double>(rows_.rows()) + options_.l2 / 2 * squares;
}

template class LinearModel<float>;
template class LinearModel<double>;

}  // namespace weft::concurrent
