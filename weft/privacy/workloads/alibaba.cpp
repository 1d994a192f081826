// Jobs of a cluster with privacy demands, by the rules of Alibaba-DP (Tholoniat
// et al., EuroSys 2025, section 6.3, columbia/alibaba-dp-workload): epsilon by
// memory and runtime, batches by GPUs, epochs by runtime.
//
// What those rules read of the trace of 2020, and that of 2023 does not have,
// is drawn or replaced. The number of blocks was by bytes read: here it is
// ⌊u^(-1/tail)⌋ of a uniform u, a Pareto law. Memory of GPUs, by which epsilon
// was for jobs that have some, is the job's own. Jobs that ran already when the
// trace's month began, half a percent, are left out: they came over the months
// before.
#include <algorithm>
#include <cmath>

#include "weft/privacy/cluster_trace.h"
#include "weft/privacy/draws.h"
#include "weft/privacy/mechanism.h"
#include "weft/privacy/streaming_settings.h"

namespace weft {
namespace {

using namespace privacy;

// Their configuration has these (privacy_tasks_30_days.cfg.yaml).
constexpr double kLeastEpsilon = 0.1;
constexpr double kMostEpsilon = 1000;
constexpr double kMostBlocks = 100;
constexpr double kBlockSize = 1000;
constexpr double kLeastBatch = 64;
constexpr double kMostBatch = 4096;
constexpr double kMostEpochs = 200;
constexpr double kLeastShare = 0.001;
constexpr double kGpuJob = 0.1;
constexpr double kNoiseTolerance = 0.1;
constexpr double kAlreadyThere = 0.005;  // of the jobs

// The affine map of one interval to another.
struct Affine {
  double low, high, to_low, to_high;

  double operator()(double x) const {
    if (high == low) return to_low;
    return to_low + (x - low) / (high - low) * (to_high - to_low);
  }
};

template <class Quantity>
Affine affine_over(const std::vector<ClusterJob>& jobs, double to_low,
                   double to_high, Quantity quantity) {
  Affine map{HUGE_VAL, -HUGE_VAL, to_low, to_high};
  for (const ClusterJob& job : jobs) {
    map.low = std::min(map.low, quantity(job));
    map.high = std::max(map.high, quantity(job));
  }
  return map;
}

double memory_seconds(const ClusterJob& job) {
  return job.memory * job.runtime;
}

// Epsilons of single jobs are read at more orders than budgets have.
const RenyiOrders& job_orders() {
  static const RenyiOrders orders(
      {1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 16, 32, 64, 128, 256});
  return orders;
}

// The mechanism's text with the least noise, within a tenth of epsilon, that
// keeps it; empty where that is above 1,000.
template <class Text>
std::string with_noise(const Guarantee& guarantee, Text text) {
  const auto epsilon = [&](double noise) {
    return epsilon_of(renyi_curve(parse_mechanisms(text(noise)), job_orders()),
                      guarantee.delta)
        .value;
  };
  double low = 1e-3;
  double high = 1e3;
  if (epsilon(high) > guarantee.epsilon) return "";
  while (true) {
    const double middle = std::sqrt(low * high);
    const double found = epsilon(middle);
    if (found > guarantee.epsilon)
      low = middle;
    else if (found < (1 - kNoiseTolerance) * guarantee.epsilon &&
             high > low * (1 + 1e-6))
      high = middle;
    else
      return text(middle);
  }
}

struct JobRules {
  Affine cpu_epsilon, gpu_epsilon, epochs;
  double most_gpus;

  // Empty for a job that no noise of reasonable size would make private.
  std::string mechanism(const ClusterJob& job, double blocks,
                        Draws& draws) const;
};

std::string JobRules::mechanism(const ClusterJob& job, double blocks,
                                Draws& draws) const {
  const bool has_gpu = job.gpus >= kGpuJob;
  const double size = kBlockSize * blocks;
  const Guarantee guarantee{
      (has_gpu ? gpu_epsilon : cpu_epsilon)(memory_seconds(job)), 1 / size};
  const double turns = std::round(epochs(job.runtime));
  const double batch = std::round(Affine{
      0, most_gpus, kLeastBatch, std::min(kMostBatch, size / 10)}(job.gpus));
  const double rate = batch / size;
  const double steps = std::round(turns / rate);
  const auto subsampled = [&](const char* kind) {
    return with_noise(guarantee, [&](double noise) {
      return fmt::format("subsampled_{}(noise={}, rate={}, steps={})", kind,
                         noise, rate, steps);
    });
  };
  if (has_gpu) {
    if (draws.below(2) == 0) return subsampled("gaussian");
    return with_noise(guarantee, [&](double noise) {
      return fmt::format("gaussian(noise={}, steps={})", noise,
                         std::ceil(std::log(size)));
    });
  }
  switch (draws.below(3)) {
    case 0:
      return fmt::format("laplace(noise={})", 1 / guarantee.epsilon);
    case 1:
      return fmt::format(
          "gaussian(noise={}, steps={})",
          std::sqrt(2 * std::log(1.25 / guarantee.delta)) / guarantee.epsilon,
          turns);
    default:
      return subsampled("laplace");
  }
}

// Their rule: neither next to nothing of a block nor more than all.
bool is_of_use(const RenyiCurve& demand, const RenyiCurve& room) {
  double share = HUGE_VAL;
  for (std::size_t a = 0; a < room.size(); ++a)
    if (room[a] > 0) share = std::min(share, demand[a] / room[a]);
  return share >= kLeastShare && share <= 1;
}

Workload make_alibaba(const Options& options, std::uint64_t seed) {
  const auto& file = option<std::string>(options, "file");
  if (file.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "alibaba",
                "it needs the trace's file")
        .hint(
            "alibaba(file=\"openb_pod_list_default.csv\"), which is in "
            "github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv");
  }
  std::vector<ClusterJob> jobs = read_cluster_trace(file);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const ClusterJob& a, const ClusterJob& b) {
                     return a.created < b.created;
                   });
  jobs.erase(jobs.begin(),
             jobs.begin() +
                 std::lround(kAlreadyThere * static_cast<double>(jobs.size())));
  std::erase_if(jobs, [](const ClusterJob& job) { return job.runtime == 0; });
  std::vector<ClusterJob> on_cpu = jobs;
  std::vector<ClusterJob> on_gpu = jobs;
  std::erase_if(on_cpu, [](const auto& job) { return job.gpus >= kGpuJob; });
  std::erase_if(on_gpu, [](const auto& job) { return job.gpus < kGpuJob; });
  const JobRules rules{
      affine_over(on_cpu, kLeastEpsilon, kMostEpsilon, memory_seconds),
      affine_over(on_gpu, kLeastEpsilon, kMostEpsilon, memory_seconds),
      affine_over(jobs, 1, kMostEpochs,
                  [](const ClusterJob& job) { return job.runtime; }),
      affine_over(jobs, 0, 1, [](const ClusterJob& job) {
        return job.gpus;
      }).high};
  const Affine arrival =
      affine_over(jobs, 0, streaming_time(options),
                  [](const ClusterJob& job) { return job.created; });

  Workload workload = streaming_workload(options);
  const RenyiCurve room = capacity(workload.budget, budget_orders());
  Draws draws(seed, 0);
  const auto clusters = option<std::int64_t>(options, "clusters");
  for (const ClusterJob& job : jobs) {
    for (std::int64_t i = 0; i < clusters; ++i) {
      const double blocks = std::floor(
          std::pow(draws.uniform(), -1 / option<double>(options, "tail")));
      if (blocks > kMostBlocks) continue;
      const std::string mechanism = rules.mechanism(job, blocks, draws);
      if (mechanism.empty()) continue;
      RenyiCurve demand =
          renyi_curve(parse_mechanisms(mechanism), budget_orders());
      if (!is_of_use(demand, room)) continue;
      workload.tasks.push_back({arrival(job.created),
                                static_cast<std::size_t>(blocks),
                                std::move(demand)});
    }
  }
  return workload;
}

}  // namespace

void register_privacy_workload_alibaba(WorkloadRegistry& workloads) {
  std::vector<OptionSpec> options = {
      {"file", std::string(), "the trace of 2023, a CSV"},
      {"tail",
       1.0,
       "the exponent of the law of numbers of blocks",
       {.least = 0, .is_open_below = true}},
      {"clusters",
       std::int64_t{1},
       "with these jobs, and demands of their own, on the same blocks",
       {.least = 1}}};
  const std::vector<OptionSpec> streaming = streaming_options({});
  options.insert(options.end(), streaming.begin(), streaming.end());
  workloads.add({.name = "alibaba",
                 .summary = "jobs of a cluster, with privacy demands by a rule",
                 .options = std::move(options),
                 .make = make_alibaba});
}

}  // namespace weft
