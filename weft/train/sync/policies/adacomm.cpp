// AdaComm: workers train copies of their own, as under local_sgd, for periods
// that become shorter as the loss falls (Wang and Joshi, "Adaptive
// Communication Strategies to Achieve the Best Error-Runtime Trade-off in
// Local-Update SGD", MLSys 2019).
//
// A run is cut into intervals of time or of steps. Behind the first meeting
// after the end of one, the next period follows from the mean loss of all
// workers in it (adaptive_period.h). Losses, and whether somebody's clock says
// that the interval is over, are votes: workers decide by sums, and so alike.
#include <cmath>

#include "weft/base/quantity.h"
#include "weft/base/ranges.h"
#include "weft/train/sync/adaptive_period.h"
#include "weft/train/sync/local_copies.h"

namespace weft {
namespace {

constexpr const char* kBasic = "basic";
constexpr const char* kRefined = "refined";
constexpr const char* kState = "sync.adacomm";

constexpr std::array<Unit, 1> kStepUnits = {{{"it", 1, 1}}};

// What lies between two changes of the period.
struct LossInterval {
  double length = 0;
  bool is_steps = false;  // else seconds
};

LossInterval parse_interval(std::string_view text) {
  const auto steps = parse_quantity(text, kStepUnits);
  const auto length = steps ? steps : parse_quantity(text, kTimeUnits);
  const bool is_good = length && std::isfinite(*length) && *length > 0 &&
                       (!steps || *steps == std::floor(*steps));
  if (!is_good) {
    throw Error(ErrorCode::kInvalidArgument, "interval",
                "'{}' is no time and no number of steps", text)
        .hint("60s, or 500it for steps");
  }
  return {.length = *length, .is_steps = steps.has_value()};
}

// A text of its own kind, which is checked where it is read.
constexpr CallKind kIntervals{
    .canonical =
        [](std::string_view text) {
          parse_interval(text);
          return std::string(text);
        },
    .entries = [] { return std::vector<EntryOptions>(); }};

class AdaComm : public SyncPolicy {
 public:
  AdaComm(const Options& options, const SyncContext& context)
      : network_(context.network),
        interval_(parse_interval(option<std::string>(options, "interval"))),
        overhead_(option<double>(options, "overhead")),
        rule_{.first = option<std::int64_t>(options, "tau0"),
              .is_refined = option<std::string>(options, "rule") == kRefined,
              .shrink = option<double>(options, "gamma_c"),
              .follows_rate = option<bool>(options, "rate_aware"),
              .least_loss = option<double>(options, "least_loss")},
        period_(std::max<std::int64_t>(rule_.first, 1)),
        copies_(options, context),
        state_(Tensor::zeros({DType::kF64, {kNumbers}})) {
    remember();
  }

  bool meets(const SyncStep& step) const override {
    return step.must_meet || step.number - last_met_ >= period_;
  }
  bool exchanges(const SyncStep& step) const override {
    return copies_.has_others() && meets(step);
  }

  void prepare(const SyncStep& step) override {
    if (!has_begun_) begin(step);
    was_due_ = false;
    own_loss_.sum += step.loss.sum;
    own_loss_.count += step.loss.count;
    if (step.number == first_step_) first_loss_ = step.loss;
    copies_.prepare(step, exchanges(step));
    computed_ = network_.now() - stepped_at_;
    stepped_at_ = network_.now();
  }

  Task<> exchange(Bucket& bucket, SyncStep step) override {
    return copies_.exchange(bucket, step);
  }

  void end_step(const SyncStep& step) override {
    copies_.end_step(step);
    // What is not asked again need not be in a checkpoint.
    const bool is_asked = rule_.first == 0;
    communicated_ = is_asked ? network_.now() - stepped_at_ : 0;
    stepped_at_ = network_.now();
  }

  std::vector<double> votes(const SyncStep& step) override {
    // In the order of Vote. What the meeting before took is told in this one.
    return {is_due(step) ? 1.0 : 0.0,
            own_loss_.sum,
            own_loss_.count,
            first_loss_.sum,
            first_loss_.count,
            computed_,
            communicated_};
  }

  std::string count_votes(const SyncStep& step,
                          std::span<const double> sums) override {
    last_met_ = step.number;
    own_loss_ = {};
    first_loss_ = {};
    interval_loss_.sum += sums[kLossSum];
    interval_loss_.count += sums[kLossCount];
    if (sums[kFirstCount] > 0) {
      first_.loss = sums[kFirstSum] / sums[kFirstCount];
    }
    std::string note;
    was_due_ = sums[kDue] > 0;
    if (rule_.first == 0) {
      note = calibrate(sums[kComputed], sums[kCommunicated]);
    } else if (was_due_) {
      note = decide(step);
    }
    if (was_due_) begin_interval(step);
    remember();
    return note;
  }

  Figures figures() const override {
    Figures figures = copies_.figures();
    figures.insert(figures.end(), {{"period", static_cast<double>(period_)},
                                   {"interval", static_cast<double>(number_)},
                                   {"interval_loss", last_loss_},
                                   {"due", was_due_ ? 1.0 : 0.0}});
    return figures;
  }

  std::vector<OwnedTensor> state() const override {
    std::vector<OwnedTensor> result = copies_.state();
    result.push_back({kState, state_.type(), 0, state_});
    return result;
  }

  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override {
    std::string note = copies_.restore(read, ranks);
    const Tensor saved = read(kState);
    if (!saved.is_defined()) {
      return note + (note.empty() ? "" : "; ") +
             "the checkpoint has no period of adacomm's: it begins with the "
             "first";
    }
    if (!(saved.type() == state_.type())) {
      throw Error(ErrorCode::kDataLoss, kState,
                  "is {} in the checkpoint, where {} was expected",
                  to_string(saved.type()), to_string(state_.type()));
    }
    state_.copy_from(saved);
    recall();
    return note;
  }

  std::string text() const override {
    const std::string first = rule_.first == 0
                                  ? "a measured number of steps"
                                  : fmt::format("{} step{}", rule_.first,
                                                rule_.first == 1 ? "" : "s");
    return fmt::format("local SGD, meeting after {} at first, {}", first,
                       copies_.text());
  }

 private:
  enum Vote : std::size_t {
    kDue,  // 1 where this worker's clock says so
    kLossSum,
    kLossCount,
    kFirstSum,
    kFirstCount,
    kComputed,
    kCommunicated,
  };

  // So many meetings tell what computing and communicating take, behind two
  // that may have touched memory for the first time.
  static constexpr double kSkipped = 2;
  static constexpr double kCounted = 3;

  void begin(const SyncStep& step) {
    has_begun_ = true;
    stepped_at_ = network_.now();
    if (last_met_ < 0) {
      first_step_ = step.number;
      last_met_ = step.number - 1;
      first_.lr = step.lr;
      began_at_step_ = step.number;
      elapsed_ = 0;
    }
    began_at_ = network_.now() - elapsed_;
  }

  bool is_due(const SyncStep& step) const {
    const double passed =
        interval_.is_steps
            ? static_cast<double>(step.number + 1 - began_at_step_)
            : network_.now() - began_at_;
    return passed >= interval_.length;
  }

  // The clock of an interval ticks on through those that a long period, or a
  // machine that was asleep, has missed. One that was a little late when others
  // said that the interval is over has it over, too.
  void begin_interval(const SyncStep& step) {
    ++number_;
    interval_loss_ = {};
    began_at_step_ = step.number + 1;
    const double passed = network_.now() - began_at_;
    began_at_ +=
        std::max(std::floor(passed / interval_.length), 1.0) * interval_.length;
  }

  std::string decide(const SyncStep& step) {
    const LossPoint now{.loss = interval_loss_.mean(), .lr = step.lr};
    last_loss_ = now.loss;
    const auto next = next_period(rule_, first_, now, period_);
    if (next) {
      period_ = *next;
      return "";
    }
    return fmt::format(
        "adacomm keeps its period of {} steps: nothing follows from a loss of "
        "{} at rate {} where the first was {} at {} (least_loss is {})",
        period_, now.loss, now.lr, first_.loss, first_.lr, rule_.least_loss);
  }

  // Chooses the first period such that communicating takes the given share of
  // computing: the further gain of a longer one is smaller than that.
  std::string calibrate(double computed, double communicated) {
    if (calibrated_++ < kSkipped) return "";
    computed_sum_ += computed;
    communicated_sum_ += communicated;
    if (calibrated_ < kSkipped + kCounted) return "";
    const double ratio = communicated_sum_ / computed_sum_;
    const double wanted = std::isfinite(ratio) ? ratio / overhead_ : 1;
    constexpr double kMost = 1 << 30;
    rule_.first =
        static_cast<std::int64_t>(std::ceil(std::clamp(wanted, 1.0, kMost)));
    period_ = rule_.first;
    return fmt::format(
        "adacomm begins with a period of {} steps: communicating takes {:.3g} "
        "times as long as computing",
        period_, ratio);
  }

  // The numbers of a checkpoint, in their order.
  template <class Body>
  void for_each_number(const Body& body) {
    body(rule_.first);
    body(period_);
    body(last_met_);
    body(first_.loss);
    body(first_.lr);
    body(number_);
    body(began_at_step_);
    body(elapsed_);
    body(interval_loss_.sum);
    body(interval_loss_.count);
    body(last_loss_);
    body(calibrated_);
    body(computed_sum_);
    body(communicated_sum_);
    body(communicated_);
  }
  static constexpr Dim kNumbers = 15;

  void remember() {
    const bool is_timed = has_begun_ && !interval_.is_steps;
    elapsed_ = is_timed ? network_.now() - began_at_ : 0;
    double* next = state_.data<double>();
    for_each_number(
        [&](auto& number) { *next++ = static_cast<double>(number); });
  }
  void recall() {
    const double* next = state_.data<double>();
    for_each_number([&](auto& number) {
      number = static_cast<std::remove_reference_t<decltype(number)>>(*next++);
    });
    has_begun_ = false;
  }

  AsyncEngine& network_;
  LossInterval interval_;
  double overhead_;
  PeriodRule rule_;  // its first is 0 while that is being measured
  std::int64_t period_;
  LocalCopies copies_;
  Tensor state_;

  bool has_begun_ = false;
  std::int64_t first_step_ = -1;
  std::int64_t last_met_ = -1;
  LossPoint first_;
  // What this worker has lost since workers last met.
  Ratio own_loss_;
  Ratio first_loss_;
  // What all have in this interval.
  Ratio interval_loss_;
  std::int64_t number_ = 0;
  std::int64_t began_at_step_ = 0;
  double began_at_ = 0;  // on this worker's clock
  double elapsed_ = 0;   // when last remembered
  double last_loss_ = kNotMeasured;
  bool was_due_ = false;
  // What this worker's last step and meeting took.
  double stepped_at_ = 0;
  double computed_ = 0;
  double communicated_ = 0;
  double calibrated_ = 0;
  double computed_sum_ = 0;
  double communicated_sum_ = 0;
};

std::vector<OptionSpec> adacomm_options() {
  return LocalCopies::options(
      {{.name = "tau0",
        .value = std::int64_t{20},
        .summary =
            "the first period, which no later one exceeds; auto: by what "
            "computing and communicating are measured to take",
        .range = {.least = 0, .most = 1 << 30},
        .unit = "steps",
        .words = {{"auto", 0}}},
       {.name = "interval",
        .value = std::string("60s"),
        .summary =
            "after which the period is chosen anew: a time, or \"500it\" "
            "for steps",
        .calls = &kIntervals},
       {.name = "rule",
        .value = std::string(kRefined),
        .summary = "basic follows the loss, up to tau0; refined shortens the "
                   "period in any case",
        .choices = {kRefined, kBasic}},
       {.name = "gamma_c",
        .value = 0.5,
        .summary = "by which a refined rule shortens where the loss does not",
        .range = kInside},
       {.name = "rate_aware",
        .value = true,
        .summary = "whether a smaller rate allows for a longer period"},
       {.name = "least_loss",
        .value = 0.0,
        .summary = "that a training could come to: what is above counts",
        .range = {.least = -1e9, .most = 1e9}},
       {.name = "overhead",
        .value = 0.2,
        .summary = "that communicating may add to computing under tau0 = auto",
        .range = kPositive,
        .unit = "share"}});
}

}  // namespace

void register_sync_policy_adacomm(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "adacomm",
       .summary = "local SGD whose workers meet the more often the lower the "
                  "loss",
       .options = adacomm_options(),
       .uses_collective = true,
       .sends_gradients = false,
       .tells_losses = true,
       .declines = LocalCopies::declines,
       .make = [](const Options& options,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<AdaComm>(options, context);
       }});
}

}  // namespace weft
