// What steps of plans cost on this machine: measured once, and kept in a file
// of cache_folder() for the programs that come later (graph/times_file.h).
//
// Threads: caller synchronises.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/compiler/step_timer.h"
#include "weft/graph/times_file.h"

namespace weft {

// What a step takes, or a whole function.
struct StepCost {
  double seconds = 0;
  double flops = 0;
  double bytes = 0;     // read and written
  double launches = 0;  // steps that run

  StepCost& operator+=(const StepCost& other);
};

class CostTable {
 public:
  // How long a step takes; tests give times of their own.
  using Timer =
      std::function<MeasuredTime(const Function&, const PlanStep&,
                                 const std::vector<OperandState>& states)>;

  explicit CostTable(TimesFile file, Timer timer = time_step);
  // That of this machine. What its file lacks or has damaged is measured.
  static CostTable of_machine();

  // Throws what time_step() throws.
  StepCost cost(const Function& function, const PlanStep& step,
                const std::vector<OperandState>& states);

  // How many steps were timed since it was made.
  std::size_t timed() const { return timed_.size(); }
  // What is wrong with the file, or nothing.
  const std::string& complaint() const { return file_.complaint(); }
  // Writes what was timed to the file, if it has one. Where it cannot be
  // written, one line on standard error says so, and who comes later times the
  // steps again.
  void keep();

 private:
  double seconds(const Function& function, const PlanStep& step,
                 const std::vector<OperandState>& states);

  TimesFile file_;
  Timer timer_;
  std::unordered_map<std::string, double> known_;
  TimesFile::Entries timed_;
};

}  // namespace weft
