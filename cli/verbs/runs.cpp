// weft runs: what was trained, as a list, side by side, and as a picture.
#include <CLI/CLI.hpp>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/train/run_list.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct RunsArguments {
  std::string folder = "runs";
  std::vector<std::string> runs;
  std::string metric;
  std::string over = "epoch";
  std::string out;
  bool as_json = false;
};

constexpr std::size_t kMostRows = 20;  // of a curve in the terminal

// The epochs that a run has done, and those that it was to do.
std::string epochs_text(const TrainedRun& run) {
  return fmt::format("{}/{}", run.epochs.empty() ? 0 : run.epochs.back().epoch,
                     run.record.epochs);
}

std::string best_text(const TrainedRun& run) {
  const EpochMetrics* best = run.best();
  return best == nullptr
             ? "-"
             : metric_text(run.record.outcome.deciding, best->held_out);
}

std::string time_text(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm local{};
  localtime_r(&time, &local);
  return fmt::format("{:%Y-%m-%d %H:%M}", local);
}

// A name below the folder that was asked for.
std::string name_below(const fs::path& root, const fs::path& folder) {
  const fs::path name = folder.lexically_relative(root);
  return name == "." || name.empty() ? folder.string() : name.string();
}

std::vector<std::string> list_row(const fs::path& root,
                                  const fs::path& folder) {
  const std::string name = printable(name_below(root, folder));
  try {
    const TrainedRun run = read_run(folder);
    const RunRecord& record = run.record;
    std::string state(to_string(record.outcome.state));
    if (!record.outcome.reason.empty()) {
      const std::string& reason = record.outcome.reason;
      state += ": " + printable(reason.substr(0, reason.find('\n')));
    }
    return {name,
            record.name,
            record.task,
            epochs_text(run),
            best_text(run),
            time_text(record.ended > 0 ? record.ended : record.started),
            std::move(state)};
  } catch (const Error& error) {
    // One that is damaged does not hide the others.
    return {name, "", "", "", "", "", printable(error.message())};
  }
}

Json list_json(const fs::path& folder) {
  Json json{{"folder", folder.string()}};
  try {
    const TrainedRun run = read_run(folder);
    json.update(Json::parse(to_json(run.record)));
    // What was reached so far, also by a run that has not ended.
    json["epochs_done"] = run.epochs.empty() ? 0 : run.epochs.back().epoch;
    if (const EpochMetrics* best = run.best()) {
      json["best_epoch"] = best->epoch;
      json["best"] =
          number(best->held_out.get(run.record.outcome.deciding.name));
    }
  } catch (const Error& error) {
    json["error"] = error.what();
  }
  return json;
}

void list(const RunsArguments& arguments) {
  const fs::path root = arguments.folder;
  const std::vector<fs::path> folders = find_runs(root);
  if (folders.empty()) {
    throw Error(ErrorCode::kInvalidArgument, root.string(),
                "there is no run in this folder, or below it")
        .hint("weft train RECIPE makes one in runs/RECIPE");
  }
  if (arguments.as_json) {
    Json all = Json::array();
    for (const fs::path& folder : folders) all.push_back(list_json(folder));
    return print_json({{"runs", all}});
  }
  std::vector<std::vector<std::string>> rows{
      {"run", "recipe", "task", "epochs", "best", "when", "state"}};
  for (const fs::path& folder : folders) {
    rows.push_back(list_row(root, folder));
  }
  fmt::print("{}", text_table(rows, "<<<><<<"));
}

// A run is named by its folder, or as `weft runs` lists it.
fs::path folder_of(const std::string& name) {
  if (fs::exists(name)) return name;
  const fs::path listed = fs::path("runs") / name;
  return fs::exists(listed) ? listed : fs::path(name);
}

std::vector<TrainedRun> read_all(const std::vector<std::string>& names) {
  std::vector<TrainedRun> runs;
  for (const std::string& name : names) {
    runs.push_back(read_run(folder_of(name)));
  }
  return runs;
}

MetricDef metric_for(const RunsArguments& arguments,
                     const std::vector<TrainedRun>& runs) {
  return common_metric(runs, arguments.metric.empty()
                                 ? std::nullopt
                                 : std::optional(arguments.metric));
}

std::string value_text(const MetricDef& metric, double value) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, metric.digits)
                              : "-";
}

// The value of an epoch, if it was measured.
double value_at(const TrainedRun& run, std::int64_t epoch,
                const std::string& metric) {
  for (const EpochMetrics& each : run.epochs) {
    if (each.epoch == epoch) return each.held_out.get(metric);
  }
  return kNotMeasured;
}

// "A" to "Z", then "27".
std::string letter(std::size_t i) {
  return i < 26 ? std::string(1, static_cast<char>('A' + i))
                : fmt::format("{}", i + 1);
}

void compare(const RunsArguments& arguments) {
  const std::vector<TrainedRun> runs = read_all(arguments.runs);
  const MetricDef metric = metric_for(arguments, runs);
  fmt::print("{} on held-out data\n", metric.name);
  std::int64_t last = 0;
  std::vector<std::string> heading{"epoch"};
  std::vector<std::string> best{"best"};
  std::vector<std::string> at{"at epoch"};
  std::vector<std::string> time{"time"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    fmt::print("  {}  {}\n", letter(i), printable(arguments.runs[i]));
    heading.push_back(letter(i));
    // The best epoch by what the run was judged by, not by the metric shown.
    const EpochMetrics* epoch = runs[i].best();
    best.push_back(epoch == nullptr
                       ? "-"
                       : value_text(metric, epoch->held_out.get(metric.name)));
    at.push_back(epoch == nullptr ? "-" : fmt::format("{}", epoch->epoch));
    time.push_back(runs[i].epochs.empty()
                       ? "-"
                       : duration_text(runs[i].epochs.back().seconds));
    if (!runs[i].epochs.empty()) {
      last = std::max(last, runs[i].epochs.back().epoch);
    }
  }
  std::vector<std::vector<std::string>> rows{heading};
  const auto every = std::max<std::int64_t>(
      1, (last + static_cast<std::int64_t>(kMostRows) - 1) /
             static_cast<std::int64_t>(kMostRows));
  for (std::int64_t epoch = every; epoch < last + every; epoch += every) {
    // The last row is the last epoch.
    const std::int64_t shown = std::min(epoch, last);
    std::vector<std::string> row{fmt::format("{}", shown)};
    for (const TrainedRun& run : runs) {
      row.push_back(value_text(metric, value_at(run, shown, metric.name)));
    }
    rows.push_back(std::move(row));
  }
  rows.insert(rows.end(), {best, at, time});
  fmt::print("{}", text_table(rows, std::string(runs.size() + 1, '>')));
}

void plot(const RunsArguments& arguments) {
  const fs::path out = arguments.out;
  const bool is_svg = out.extension() == ".svg";
  if (!is_svg && out.extension() != ".png") {
    throw Error(ErrorCode::kInvalidArgument, "-o",
                "'{}' is no name of a picture", arguments.out)
        .hint("it ends with .svg or .png");
  }
  const std::vector<TrainedRun> runs = read_all(arguments.runs);
  const CurveAxis over = arguments.over == "step"   ? CurveAxis::kStep
                         : arguments.over == "time" ? CurveAxis::kTime
                                                    : CurveAxis::kEpoch;
  const Chart chart =
      chart_of(runs, arguments.runs, metric_for(arguments, runs), over);
  const auto drawn = [&](Canvas& canvas) { draw(chart, canvas); };
  write_file(out, is_svg ? svg_picture(size_of(chart), drawn)
                         : png_picture(size_of(chart), drawn));
  fmt::print("{}\n", out.string());
}

void add_names(CLI::App& verb, RunsArguments& arguments) {
  verb.add_option("RUN", arguments.runs,
                  "folders of runs, or their names below runs/")
      ->required();
  verb.add_option("--metric", arguments.metric,
                  "a metric that all have measured (the one that judges them)")
      ->type_name("NAME");
}

void add_runs(CLI::App& verb) {
  auto arguments = std::make_shared<RunsArguments>();
  verb.add_option("DIR", arguments->folder,
                  "where to look for runs, also further below (runs)");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.require_subcommand(0, 1);

  CLI::App* comparing = verb.add_subcommand(
      "compare", "Print the held-out course of runs side by side");
  add_names(*comparing, *arguments);
  comparing->callback([arguments] { compare(*arguments); });

  CLI::App* drawing =
      verb.add_subcommand("plot", "Draw the course of runs, as SVG or PNG");
  add_names(*drawing, *arguments);
  drawing->add_option("-o,--out", arguments->out, "FILE.svg or FILE.png")
      ->required()
      ->type_name("FILE");
  drawing->add_option("--over", arguments->over, "epoch, step or time (epoch)")
      ->check(CLI::IsMember({"epoch", "step", "time"}))
      ->type_name("AXIS");
  drawing->callback([arguments] { plot(*arguments); });

  verb.callback([&verb, arguments] {
    if (verb.get_subcommands().empty()) list(*arguments);
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_runs(cli::VerbRegistry& verbs) {
  verbs.add({.name = "runs",
             .summary = "List what was trained; compare and draw its course",
             .order = 110,
             .add = cli::add_runs});
}

}  // namespace weft
