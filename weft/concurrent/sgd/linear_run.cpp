#include "weft/concurrent/sgd/linear_run.h"

#include <cmath>

#include "weft/base/error.h"
#include "weft/concurrent/sgd/counting.h"
#include "weft/concurrent/sgd/full_sgd.h"

namespace weft::concurrent {
namespace {

void check_loss(double loss, int epoch) {
  if (std::isfinite(loss)) return;
  throw Error(ErrorCode::kNumeric, "sgd", "the loss is {} after epoch {}", loss,
              epoch)
      .hint("a smaller rate often helps");
}

void check_linear(const LinearRunOptions& options) {
  const auto fail = [](const std::string& message, const char* hint) {
    throw Error(ErrorCode::kInvalidArgument, "sgd", "{}", message).hint(hint);
  };
  if (options.epochs < 1)
    fail(fmt::format("{} epochs", options.epochs),
         "there must be at least one");
  if (!(options.decay > 0 && options.decay <= 1))
    fail(fmt::format("a decay of {}", options.decay), "it must be in (0, 1]");
  if (options.is_full && options.decay != 1)
    fail("rates of FullSGD are halved, and have no decay of another factor",
         "leave one of the two out");
}

// The share of integer additions that did not arrive.
double lost_share(const SgdProblem<double>& counting, SgdOptions options) {
  std::vector<double> x(counting.dimensions());
  options.rate = 1;
  options.traced = 0;
  const SgdRun run = run_epoch_sgd<double>(counting, x, options);
  return 1 - counting.loss(x) / static_cast<double>(run.changes);
}

// Moves what a run has traced to where traces are kept.
void take_trace(SgdRun& run, std::vector<IterationTrace>& trace) {
  trace.insert(trace.end(), run.trace.begin(), run.trace.end());
  run.trace.clear();
}

template <class Number>
class LinearTraining {
 public:
  LinearTraining(const SparseRows& rows, const LinearRunOptions& options,
                 const std::function<void(const LinearEpoch&)>& on_epoch)
      : options_(options),
        on_epoch_(on_epoch),
        model_(rows, model_options(options)),
        x_(rows.width) {
    options_.sgd.iterations = rows.rows();
    result_.first_loss = model_.loss(x_);
  }

  LinearRun run() {
    if (options_.is_full) {
      run_full();
    } else {
      for (int epoch = 0; epoch < options_.epochs; ++epoch) run_one(epoch);
    }
    result_.delays = delays_of(trace_, options_.sgd.threads);
    if (options_.counts_lost)
      result_.lost = lost_share(Counting(model_), options_.sgd);
    result_.x.assign(x_.begin(), x_.end());
    return std::move(result_);
  }

 private:
  static LinearModelOptions model_options(const LinearRunOptions& options) {
    LinearModelOptions model = options.model;
    model.passes = static_cast<std::uint32_t>(options.epochs);
    return model;
  }

  void run_one(int epoch) {
    SgdOptions sgd = options_.sgd;
    sgd.first = static_cast<std::uint64_t>(epoch) * sgd.iterations;
    sgd.rate *= std::pow(options_.decay, epoch);
    if (epoch > 0) sgd.traced = 0;
    end_epoch(epoch + 1, sgd.rate, run_epoch_sgd<Number>(model_, x_, sgd));
  }

  void run_full() {
    end_epoch(
        options_.epochs, std::ldexp(options_.sgd.rate, 1 - options_.epochs),
        run_full_sgd<Number>(
            model_, x_, {.epoch = options_.sgd, .epochs = options_.epochs}));
  }

  void end_epoch(int number, double rate, SgdRun run) {
    seconds_ += run.seconds;
    take_trace(run, trace_);
    const double loss = model_.loss(x_);
    check_loss(loss, number);
    result_.epochs.push_back({number, rate, loss, seconds_, std::move(run)});
    if (on_epoch_) on_epoch_(result_.epochs.back());
  }

  LinearRunOptions options_;
  const std::function<void(const LinearEpoch&)>& on_epoch_;
  LinearModel<Number> model_;
  HugeVector<Number> x_;
  double seconds_ = 0;
  std::vector<IterationTrace> trace_;
  LinearRun result_;
};

}  // namespace

LinearRun run_linear(const SparseRows& rows, const LinearRunOptions& options,
                     const std::function<void(const LinearEpoch&)>& on_epoch) {
  check_linear(options);
  return options.is_double
             ? LinearTraining<double>(rows, options, on_epoch).run()
             : LinearTraining<float>(rows, options, on_epoch).run();
}

}  // namespace weft::concurrent
