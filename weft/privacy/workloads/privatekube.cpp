// Statistics ("mice") and trainings ("elephants") on reviews, with the demands
// that were measured for them (Luo et al., "Privacy budget scheduling", OSDI
// 2021, section 6; columbia/PrivateKube, its macrobenchmark). The mix and the
// arrivals are not part of the files: mice and elephants are drawn at random,
// and come as a Poisson process. A block here is a hundred of theirs.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "weft/base/file.h"
#include "weft/privacy/draws.h"
#include "weft/privacy/streaming_settings.h"

namespace weft {
namespace {

using namespace privacy;
namespace fs = std::filesystem;

constexpr double kBlocksInOne = 100;

struct Pipeline {
  RenyiCurve demand{budget_orders()};
  std::size_t blocks = 0;
};

double number_in(std::string_view text, const fs::path& path) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0))
    throw Error(ErrorCode::kDataLoss, path.string(), "'{}' is no number from 0",
                text);
  return value;
}

// The lines of a YAML mapping that we need: "n_blocks: 100", and those of the
// lists "alphas:" and "rdp_epsilons:", "- 1.5".
Pipeline read_pipeline(const fs::path& path) {
  const std::string text = read_text(path, 1 << 20);
  std::vector<double> orders;
  std::vector<double> values;
  std::vector<double>* list = nullptr;
  double blocks = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (line.starts_with("- ")) {
      if (list != nullptr) list->push_back(number_in(line.substr(2), path));
      continue;
    }
    list = line == "alphas:"         ? &orders
           : line == "rdp_epsilons:" ? &values
                                     : nullptr;
    if (line.starts_with("n_blocks:")) blocks = number_in(line.substr(9), path);
  }
  if (orders.empty() || !(RenyiOrders(orders) == budget_orders()) ||
      blocks < 1 || blocks > 1e6)
    throw Error(ErrorCode::kDataLoss, path.string(),
                "it lacks n_blocks, or has other alphas than budgets have");
  return {RenyiCurve(budget_orders(), values),
          static_cast<std::size_t>(std::ceil(blocks / kBlocksInOne))};
}

std::vector<Pipeline> read_pipelines(const fs::path& folder,
                                     std::string_view kind) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& place : fs::directory_iterator(folder, error)) {
    if (!place.path().filename().string().starts_with(kind)) continue;
    for (const auto& file : fs::directory_iterator(place.path()))
      if (file.path().extension() == ".yaml") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    throw Error(ErrorCode::kUnavailable, folder.string(),
                "there are no files {}*/*.yaml", kind)
        .hint(
            "privatekube(folder=DIR) is given the folder "
            "evaluation/macrobenchmark/workload/params/runs/event of "
            "github.com/columbia/PrivateKube");
  }
  std::vector<Pipeline> pipelines;
  for (const fs::path& file : files) pipelines.push_back(read_pipeline(file));
  return pipelines;
}

Workload make_privatekube(const Options& options, std::uint64_t seed) {
  const fs::path folder = option<std::string>(options, "folder");
  const std::vector<Pipeline> mice = read_pipelines(folder, "mice");
  const std::vector<Pipeline> elephants = read_pipelines(folder, "elephants");
  Workload workload = streaming_workload(options);
  Draws draws(seed, 0);
  double time = 0;
  while (true) {
    time -= std::log(draws.uniform()) / option<double>(options, "tasks");
    if (time > streaming_time(options)) return workload;
    const auto& kind =
        draws.uniform() < option<double>(options, "mice") ? mice : elephants;
    const Pipeline& pipeline = kind[draws.below(kind.size())];
    workload.tasks.push_back({time, pipeline.blocks, pipeline.demand});
  }
}

}  // namespace

void register_privacy_workload_privatekube(WorkloadRegistry& workloads) {
  std::vector<OptionSpec> options = {
      {"folder", std::string(), "of its folders elephants and mice-*"},
      {"tasks",
       100.0,
       "that come in a unit of time, on average",
       {.least = 0, .is_open_below = true}},
      {"mice", 0.75, "of all tasks", {.least = 0, .most = 1}, {}, "share"}};
  const std::vector<OptionSpec> streaming =
      streaming_options({.first_blocks = 20, .more_blocks = 50});
  options.insert(options.end(), streaming.begin(), streaming.end());
  workloads.add({.name = "privatekube",
                 .summary = "statistics and trainings on reviews, as measured",
                 .options = std::move(options),
                 .make = make_privatekube});
}

}  // namespace weft
