// What simulations of privacy budgets have found, as a table, as JSON and as a
// picture.
#pragma once

#include <string>
#include <vector>

#include "cli/report.h"

#include "weft/privacy/simulation.h"

namespace weft::cli {

// A scheduler on one workload, over several seeds; numbers are means of them.
struct BudgetRun {
  std::string scheduler;
  std::vector<privacy::SimulationResult> results;

  double mean(double (*number)(const privacy::SimulationResult&)) const;
};

struct BudgetStudy {
  std::string workload;
  double tasks = 0;  // a mean too
  std::vector<BudgetRun> runs;
  // The weight that no scheduler exceeds, by seed; empty: nobody asked.
  std::vector<double> most = {};
};

std::string budget_table(const std::vector<BudgetStudy>& studies);
Json budget_json(const std::vector<BudgetStudy>& studies);
// Grants over time of one study, or over the numbers of several.
std::string budget_picture(const std::vector<BudgetStudy>& studies,
                           bool is_svg);

}  // namespace weft::cli
