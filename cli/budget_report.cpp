#include "cli/budget_report.h"

#include <fmt/core.h>
#include <numeric>

#include "cli/text_table.h"

#include "weft/train/picture/canvas.h"
#include "weft/train/picture/chart.h"

namespace weft::cli {
namespace {

using privacy::SimulationResult;

constexpr std::array<Colour, 6> kSchedulerColours = {
    Colour{0x1f, 0x6f, 0xb4}, Colour{0xd6, 0x5f, 0x0e},
    Colour{0x2a, 0x8f, 0x4a}, Colour{0x8e, 0x44, 0xad},
    Colour{0xb0, 0x2a, 0x37}, Colour{0x55, 0x5b, 0x66}};

double granted(const SimulationResult& result) {
  return static_cast<double>(result.grants.size());
}
double fair(const SimulationResult& result) {
  return static_cast<double>(result.fair);
}
double fair_granted(const SimulationResult& result) {
  return static_cast<double>(result.fair_granted);
}

std::string share_text(double part, double whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100 * part / whole);
}

// Grants add up; those of the first seed are drawn.
std::vector<Point> over_time(const SimulationResult& result) {
  std::vector<Point> points = {{0, 0}};
  for (const auto& grant : result.grants) {
    if (points.back().x != grant.time)
      points.push_back({grant.time, points.back().y});
    points.back().y += 1;
  }
  return points;
}

}  // namespace

double BudgetRun::mean(double (*number)(const SimulationResult&)) const {
  double sum = 0;
  for (const SimulationResult& result : results) sum += number(result);
  return sum / static_cast<double>(results.size());
}

std::string budget_table(const std::vector<BudgetStudy>& studies) {
  std::vector<std::vector<std::string>> rows{
      {"workload", "tasks", "scheduler", "granted", "weight", "fair granted",
       "refused", "left", "expired", "delay", "epsilon", "seconds"}};
  for (const BudgetStudy& study : studies) {
    for (const BudgetRun& run : study.runs) {
      const bool is_first = &run == &study.runs.front();
      const auto mean = [&](auto number, const char* format) {
        return fmt::format(fmt::runtime(format), run.mean(number));
      };
      rows.push_back(
          {is_first ? study.workload : "",
           is_first ? fmt::format("{:.6g}", study.tasks) : "", run.scheduler,
           mean(granted, "{:.6g}"),
           mean([](const SimulationResult& r) { return r.weight; }, "{:.6g}"),
           share_text(run.mean(fair_granted), run.mean(fair)),
           mean(
               [](const SimulationResult& r) {
                 return static_cast<double>(r.refused);
               },
               "{:.6g}"),
           mean(
               [](const SimulationResult& r) {
                 return static_cast<double>(r.left);
               },
               "{:.6g}"),
           mean(
               [](const SimulationResult& r) {
                 return static_cast<double>(r.expired);
               },
               "{:.6g}"),
           mean([](const SimulationResult& r) { return r.mean_delay; },
                "{:.2f}"),
           mean([](const SimulationResult& r) { return r.epsilon; }, "{:.3f}"),
           mean([](const SimulationResult& r) { return r.seconds; },
                "{:.3f}")});
    }
    if (study.most.empty()) continue;
    const double sum =
        std::accumulate(study.most.begin(), study.most.end(), 0.0);
    rows.push_back(
        {"", "", "any", "",
         fmt::format("<= {:.6g}", sum / static_cast<double>(study.most.size())),
         "", "", "", "", "", "", ""});
  }
  return text_table(rows, "<><>>>>>>>>>");
}

Json budget_json(const std::vector<BudgetStudy>& studies) {
  Json all = Json::array();
  for (const BudgetStudy& study : studies) {
    Json runs = Json::array();
    for (const BudgetRun& run : study.runs) {
      Json seeds = Json::array();
      for (const SimulationResult& result : run.results) {
        seeds.push_back({{"granted", result.grants.size()},
                         {"weight", number(result.weight)},
                         {"fair", result.fair},
                         {"fair_granted", result.fair_granted},
                         {"refused", result.refused},
                         {"left", result.left},
                         {"expired", result.expired},
                         {"mean_delay", number(result.mean_delay)},
                         {"epsilon", number(result.epsilon)},
                         {"seconds", number(result.seconds)}});
      }
      runs.push_back({{"scheduler", run.scheduler},
                      {"granted", number(run.mean(granted))},
                      {"seeds", std::move(seeds)}});
    }
    Json entry = {{"workload", study.workload},
                  {"tasks", number(study.tasks)},
                  {"schedulers", std::move(runs)}};
    if (!study.most.empty()) {
      Json most = Json::array();
      for (const double bound : study.most) most.push_back(number(bound));
      entry["most_weight"] = std::move(most);
    }
    all.push_back(std::move(entry));
  }
  return {{"workloads", std::move(all)}};
}

std::string budget_picture(const std::vector<BudgetStudy>& studies,
                           bool is_svg) {
  Panel panel{
      .title = "tasks granted", .range = AxisRange::kFromZero, .curves = {}};
  Chart chart{.title = studies.size() == 1 ? studies[0].workload : "workloads",
              .x_label = studies.size() == 1 ? "time, blocks" : "workload",
              .has_whole_x = true,
              .panels = {},
              .legend = {}};
  for (std::size_t s = 0; s < studies[0].runs.size(); ++s) {
    const Stroke stroke{
        .colour = kSchedulerColours[s % kSchedulerColours.size()], .width = 2};
    std::vector<Point> points;
    if (studies.size() == 1) {
      points = over_time(studies[0].runs[s].results[0]);
    } else {
      for (std::size_t i = 0; i < studies.size(); ++i)
        points.push_back(
            {static_cast<double>(i + 1), studies[i].runs[s].mean(granted)});
    }
    panel.curves.push_back({std::move(points), stroke});
    chart.legend.push_back({studies[0].runs[s].scheduler, stroke});
  }
  chart.panels.push_back(std::move(panel));
  const auto drawn = [&](Canvas& canvas) { draw(chart, canvas); };
  return is_svg ? svg_picture(size_of(chart), drawn)
                : png_picture(size_of(chart), drawn);
}

}  // namespace weft::cli
