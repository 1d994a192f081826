#include "cli/optimize_report.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "cli/terminal.h"
#include "cli/text_table.h"

#include "weft/train/picture/canvas.h"
#include "weft/train/picture/chart.h"

namespace weft::cli {
namespace {

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f} ms", 1e3 * seconds);
}

// "+12.3 us" is saved, "-12.3 us" lost.
std::string gain_text(double seconds) {
  return fmt::format("{:+.1f} us", 1e6 * seconds);
}

void print_taken(const OptimizeReport& report) {
  std::vector<std::vector<std::string>> rows = {{"taken", "gain", "layer"}};
  for (const SearchStep& step : report.steps) {
    rows.push_back({step.rule, gain_text(step.gain), printable(step.layer)});
  }
  fmt::print("\n{}", text_table(rows, "<><"));
}

// A rule is refused in many places: the best of them says enough.
void print_refused(const OptimizeReport& report) {
  struct Refused {
    int count = 0;
    double best = 0;
    std::string layer;
  };
  std::map<std::string, Refused> rules;
  for (const SearchStep& step : report.refused) {
    Refused& rule = rules[step.rule];
    if (rule.count++ == 0 || step.gain > rule.best) {
      rule.best = step.gain;
      rule.layer = step.layer;
    }
  }
  std::vector<std::vector<std::string>> rows = {
      {"refused", "places", "gain at best", "layer"}};
  for (const auto& [name, rule] : rules) {
    rows.push_back({name, std::to_string(rule.count), gain_text(rule.best),
                    printable(rule.layer)});
  }
  fmt::print("\n{}", text_table(rows, "<>><"));
}

}  // namespace

void print_optimize_report(const OptimizeReport& report) {
  fmt::print("{}: {} a run, {} before ({:.2f} x)\n", report.taken,
             milliseconds(report.measured_after),
             milliseconds(report.measured_before),
             report.measured_before / report.measured_after);
  fmt::print("predicted: {}, {} before\n", milliseconds(report.predicted_after),
             milliseconds(report.predicted_before));
  if (!report.steps.empty()) print_taken(report);
  if (!report.refused.empty()) print_refused(report);
  fmt::print(
      "\n{} part{}, {} functions looked into, {} priced, {} steps "
      "timed{}\n",
      report.parts, report.parts == 1 ? "" : "s",
      grouped(static_cast<std::int64_t>(report.expanded)),
      grouped(static_cast<std::int64_t>(report.tried)),
      grouped(static_cast<std::int64_t>(report.timed)),
      report.is_out_of_time ? "; the time was up" : "");
}

std::string optimize_picture(const OptimizeReport& report) {
  Curve predicted{{}, {.colour = {31, 119, 180}, .width = 2}};
  double seconds = report.predicted_before;
  predicted.points.push_back({0, 1e3 * seconds});
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    seconds -= report.steps[i].gain;
    predicted.points.push_back({static_cast<double>(i + 1), 1e3 * seconds});
  }
  const double last =
      std::max<double>(1, static_cast<double>(report.steps.size()));
  Curve measured{
      {{0, 1e3 * report.measured_before}, {last, 1e3 * report.measured_after}},
      {.colour = {255, 127, 14}, .width = 2, .dashes = {4, 3}}};
  const Chart chart{
      .title = "a run after each substitution",
      .x_label = "substitutions",
      .panels = {{"ms", AxisRange::kFromZero, {measured, predicted}}},
      .legend = {{"by the cost table", predicted.stroke},
                 {"measured, before and after", measured.stroke}}};
  return svg_picture(size_of(chart),
                     [&](Canvas& canvas) { draw(chart, canvas); });
}

}  // namespace weft::cli
