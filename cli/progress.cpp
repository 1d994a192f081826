#include "cli/progress.h"

#include <cmath>
#include <fmt/core.h>
#include <unistd.h>

#include "cli/terminal.h"

#include "weft/base/cpu.h"
#include "weft/base/parallel.h"
#include "weft/base/version.h"
#include "weft/kernels/onednn/processor.h"
#include "weft/kernels/onednn/version.h"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kRedraw = 100ms;    // how often the bar is drawn
constexpr auto kPlainEvery = 10s;  // lines within an epoch, without one

// Numbers are as wide as the largest will be, so that the line does not jump.
std::string right_aligned(std::int64_t number, std::int64_t largest) {
  return fmt::format("{:>{}}", number, fmt::format("{}", largest).size());
}

}  // namespace

std::string machine_text() {
  return fmt::format("{}, oneDNN {}, {} thread{}", vector_instructions(),
                     onednn::version(), thread_count(),
                     thread_count() == 1 ? "" : "s");
}

std::string dtype_text(DType dtype) {
  return fmt::format("{}{}", to_string(dtype),
                     onednn::dtype_declined(dtype) ? " emulated in f32" : "");
}

std::string headline(const TrainSummary& s) {
  return fmt::format(
      "weft {}  {}  {} {} parameters  {} train / {} held out  {}{}", kVersion,
      s.name, s.model, grouped(s.parameters), grouped(s.train_examples),
      grouped(s.held_out_examples), machine_text(),
      s.dtype == DType::kF32 ? "" : ", " + dtype_text(s.dtype));
}

Progress::Progress()
    : is_terminal_(is_terminal(STDERR_FILENO)), shown_at_(Clock::now()) {}

// If an exception passes, its message must not stand behind a bar.
Progress::~Progress() { clear(); }

// The bar has no line feed.
void Progress::clear() {
  // What comes next is drawn over the bar.
  if (has_bar_) fmt::print(stderr, "\r\033[K");
  has_bar_ = false;
}

void Progress::on_start(const TrainSummary& summary) {
  summary_ = summary;
  fmt::print(stderr, "{}\n", headline(summary));
  if (!summary.sync.empty()) fmt::print(stderr, "{}\n", summary.sync);
  if (summary.first_step > 0) {
    fmt::print(stderr, "continues after step {}\n",
               grouped(summary.first_step));
  }
  // The first line within an epoch comes a period after the start.
  shown_at_ = Clock::now();
}

void Progress::on_note(const std::string& note) {
  fmt::print(stderr, "note: {}\n", note);
}

std::string Progress::scores_text(const Scores& scores) const {
  std::string text = fmt::format("loss {:.4f}", scores.loss());
  if (summary_.deciding.name != "loss") {
    text += "  " + metric_text(summary_.deciding, scores);
  }
  return text;
}

std::string Progress::line(const TrainProgress& p, const Scores& scores) const {
  const double share =
      static_cast<double>(p.examples) /
      // An empty epoch has no share.
      static_cast<double>(std::max<std::int64_t>(p.all_examples, 1));
  std::string text =
      fmt::format("epoch {}/{}  ", right_aligned(p.epoch, p.epochs), p.epochs);
  if (is_terminal_) text += bar(share) + "  ";
  return text + fmt::format("{}/{}  {} {}/s  {}",
                            right_aligned(p.examples, p.all_examples),
                            p.all_examples,
                            grouped(std::llround(p.samples_per_s)),
                            summary_.unit, scores_text(scores));
}

std::string Progress::time_left(const TrainProgress& p) const {
  // Before anything is measured the speed is 0, and clock_time() shows no time.
  return clock_time(static_cast<double>(p.examples_left) / p.samples_per_s);
}

void Progress::on_step(const TrainProgress& progress) {
  const auto now = Clock::now();
  if (now - shown_at_ < (is_terminal_ ? Clock::duration(kRedraw)
                                      : Clock::duration(kPlainEvery))) {
    return;
  }
  shown_at_ = now;
  const std::string text =
      line(progress, progress.train) + "  " + time_left(progress) + " left";
  // A terminal has one line drawn over; a log file gets a line now and then. A
  // carriage return goes back to the start of the line, and the sequence clears
  // it.
  if (is_terminal_) {
    // A line that the terminal breaks would be cleared in part alone.
    fmt::print(stderr, "\r\033[K{}",
               cut_to(text, static_cast<std::size_t>(terminal_width() - 1)));
    // A line without an end may stay in a buffer.
    std::fflush(stderr);
    has_bar_ = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

// The held-out scores close the line; without them, the training ones do.
void Progress::on_epoch(const TrainProgress& progress,
                        const EpochMetrics& metrics) {
  clear();
  std::string text = line(progress, metrics.train);
  if (metrics.held_out.is_measured()) {
    const MetricDef& deciding = summary_.deciding;
    text += fmt::format("  held out {:.{}f}",
                        metrics.held_out.get(deciding.name), deciding.digits);
  }
  fmt::print(stderr, "{}\n", text);
  shown_at_ = Clock::now();
}

}  // namespace weft::cli
