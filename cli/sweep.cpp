#include "cli/sweep.h"

#include <cmath>
#include <fmt/core.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "cli/text_table.h"

#include "weft/base/version.h"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kRedrawSweep = 100ms;
constexpr auto kPlainSweep = 10s;  // lines of a run without a terminal

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Gives the first line of what an error says: a table has one line for a run.
std::string first_line(const std::string& text) {
  return printable(text.substr(0, text.find('\n')));
}

std::string outcome_text(const RunOutcome& outcome) {
  if (outcome.state != RunState::kDone) {
    return fmt::format("{}: {}", to_string(outcome.state),
                       first_line(outcome.reason));
  }
  return fmt::format("{} at epoch {}  {}",
                     metric_text(outcome.deciding, outcome.test),
                     outcome.best_epoch, duration_text(outcome.seconds));
}

}  // namespace

SweepProgress::SweepProgress(std::span<const SweepRun> runs)
    : runs_(runs),
      is_terminal_(is_terminal(STDERR_FILENO)),
      drawn_at_(Clock::now()) {}

// If an exception passes, its message must not stand behind the lines.
SweepProgress::~SweepProgress() { clear(); }

// Goes back to the first of the lines, and clears what is below.
void SweepProgress::clear() {
  if (drawn_lines_ > 0) fmt::print(stderr, "\r\033[{}A\033[J", drawn_lines_);
  drawn_lines_ = 0;
}

void SweepProgress::draw() {
  clear();
  // A line that is broken by the terminal would be two, and the cursor would
  // not go back far enough.
  const auto width = static_cast<std::size_t>(terminal_width() - 1);
  for (const auto& [run, live] : live_) {
    if (live.line.empty()) continue;
    fmt::print(stderr, "{}\n", cut_to(live.line, width));
    ++drawn_lines_;
  }
  fmt::print(stderr, "{}\n",
             cut_to(fmt::format("{} of {} ended, {} running", ended_,
                                plural(runs_.size(), "run"), live_.size()),
                    width));
  ++drawn_lines_;
  std::fflush(stderr);
  drawn_at_ = Clock::now();
}

// A line that stays.
void SweepProgress::say(const std::string& line) {
  clear();
  fmt::print(stderr, "{}\n", line);
  if (is_terminal_) draw();
}

void SweepProgress::on_start(std::size_t run, const TrainSummary& summary) {
  live_[run] = {summary.deciding, "", Clock::now()};
}

void SweepProgress::on_note(std::size_t run, const std::string& note) {
  say(fmt::format("note: {}: {}", runs_[run].name, printable(note)));
}

void SweepProgress::show(std::size_t run, const TrainProgress& p) {
  Live& live = live_[run];
  const double of_epoch =
      static_cast<double>(p.examples) /
      static_cast<double>(std::max<std::int64_t>(p.all_examples, 1));
  const double share = (static_cast<double>(p.epoch - 1) + of_epoch) /
                       static_cast<double>(std::max<std::int64_t>(p.epochs, 1));
  live.line = fmt::format("{}  epoch {}/{}  loss {:.4f}",
                          is_terminal_ ? bar(share) : runs_[run].name, p.epoch,
                          p.epochs, p.train.loss());
  if (live.deciding.name != "loss") {
    live.line += "  " + metric_text(live.deciding, p.train);
  }
  // Names are long, and what is cut off stands at the end.
  if (is_terminal_) live.line += "  " + runs_[run].name;
}

void SweepProgress::on_step(std::size_t run, const TrainProgress& progress) {
  const auto now = Clock::now();
  if (is_terminal_) {
    show(run, progress);
    if (now - drawn_at_ >= kRedrawSweep) draw();
  } else if (now - live_[run].shown_at >= kPlainSweep) {
    show(run, progress);
    live_[run].shown_at = now;
    say(live_[run].line);
  }
}

void SweepProgress::on_epoch(std::size_t run, const TrainProgress& progress,
                             const EpochMetrics&) {
  on_step(run, progress);
}

void SweepProgress::on_end(std::size_t run, const RunOutcome& outcome) {
  live_.erase(run);
  ++ended_;
  // A failure is told whole here, as the table has room for a line of it.
  const bool is_failure = outcome.state == RunState::kFailed;
  say(fmt::format("{}  {}", runs_[run].name,
                  is_failure ? "failed: " + printable(outcome.reason)
                             : outcome_text(outcome)));
  // The table stands where the lines of runs were.
  if (ended_ == runs_.size()) clear();
}

std::string sweep_headline(const std::string& recipe, std::size_t runs,
                           const CoreShares& shares) {
  return fmt::format(
      "weft {}  {}  {}  {} at a time, {} each", kVersion, recipe,
      plural(runs, "run"), shares.at_once,
      plural(static_cast<std::size_t>(shares.threads), "thread"));
}

std::string sweep_table(std::span<const SweepRun> runs,
                        std::span<const RunOutcome> outcomes) {
  std::vector<std::vector<std::string>> rows{
      {"run", "result", "best epoch", "time"}};
  for (const std::size_t i : best_first(outcomes)) {
    const RunOutcome& outcome = outcomes[i];
    if (outcome.state != RunState::kDone) {
      rows.push_back({runs[i].name, std::string(to_string(outcome.state)), "",
                      "", first_line(outcome.reason)});
      continue;
    }
    rows.push_back({runs[i].name, metric_text(outcome.deciding, outcome.test),
                    fmt::format("{}/{}", outcome.best_epoch, outcome.epochs),
                    duration_text(outcome.seconds)});
  }
  return text_table(rows, "<<>><");
}

Json sweep_report(const std::string& recipe, std::span<const SweepRun> runs,
                  std::span<const RunOutcome> outcomes) {
  Json all = Json::array();
  for (const std::size_t i : best_first(outcomes)) {
    const RunOutcome& outcome = outcomes[i];
    Json run{{"run", runs[i].name},
             {"folder", runs[i].folder().string()},
             {"state", to_string(outcome.state)}};
    if (outcome.state != RunState::kDone) {
      run["reason"] = outcome.reason;
    } else {
      run["metric"] = outcome.deciding.name;
      for (const auto& [name, value] : outcome.test.all()) {
        run["test_" + name] = number(value);
      }
      run["epochs"] = outcome.epochs;
      run["best_epoch"] = outcome.best_epoch;
      run["seconds"] = number(outcome.seconds);
    }
    all.push_back(std::move(run));
  }
  return {{"recipe", recipe}, {"runs", all}};
}

}  // namespace weft::cli
