// Shows a sweep: its runs as they go, on standard error, and a table of what
// came of them.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/report.h"

#include "weft/train/sweep/run_sweep.h"

namespace weft::cli {

// In a terminal a line for each run that computes, drawn over; elsewhere lines
// now and then. What has ended stands above.
class SweepProgress : public SweepObserver {
 public:
  explicit SweepProgress(std::span<const SweepRun> runs);
  ~SweepProgress() override;

  void on_start(std::size_t run, const TrainSummary& summary) override;
  void on_note(std::size_t run, const std::string& note) override;
  void on_step(std::size_t run, const TrainProgress& progress) override;
  void on_epoch(std::size_t run, const TrainProgress& progress,
                const EpochMetrics& metrics) override;
  void on_end(std::size_t run, const RunOutcome& outcome) override;

 private:
  using Clock = std::chrono::steady_clock;

  // A run that computes.
  struct Live {
    MetricDef deciding;
    std::string line;  // empty before the first step
    Clock::time_point shown_at;
  };

  void show(std::size_t run, const TrainProgress& progress);
  void say(const std::string& line);
  void draw();
  void clear();

  std::span<const SweepRun> runs_;
  bool is_terminal_;
  std::map<std::size_t, Live> live_;
  std::size_t ended_ = 0;
  std::size_t drawn_lines_ = 0;
  Clock::time_point drawn_at_;
};

// "weft 0.1.0  digits  6 runs  2 at a time, 2 threads each".
std::string sweep_headline(const std::string& recipe, std::size_t runs,
                           const CoreShares& shares);
// Best first.
std::string sweep_table(std::span<const SweepRun> runs,
                        std::span<const RunOutcome> outcomes);
// {"recipe", "runs": [{"run", "state", …}, …]}, best first.
Json sweep_report(const std::string& recipe, std::span<const SweepRun> runs,
                  std::span<const RunOutcome> outcomes);

}  // namespace weft::cli
