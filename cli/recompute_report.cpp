#include "cli/recompute_report.h"

#include <fmt/core.h>

#include "cli/terminal.h"
#include "cli/text_table.h"

namespace weft::cli {

void print_recompute_report(const RecomputeReport& report) {
  fmt::print("memory: {} of {}, {} without computing anything again\n",
             bytes_text(static_cast<double>(report.bytes_after)),
             bytes_text(static_cast<double>(report.limit)),
             bytes_text(static_cast<double>(report.bytes_before)));
  const char* how = report.taken == "chain" ? "the best choice for a chain"
                                            : "one value after another";
  fmt::print("{} steps run again ({}), which takes {:.3f} ms more\n\n",
             report.steps.size(), how, 1e3 * report.seconds);
  std::vector<std::vector<std::string>> rows = {
      {"runs again", "times", "takes more", "layer"}};
  for (const RepeatedStep& step : report.steps) {
    rows.push_back({printable(step.name), std::to_string(step.runs - 1),
                    fmt::format("{:.1f} us", 1e6 * step.seconds),
                    printable(step.layer)});
  }
  fmt::print("{}", text_table(rows, "<>><"));
}

}  // namespace weft::cli
