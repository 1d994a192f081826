// Cho, Finkler, Kung and Hunter, "BlueConnect: Decomposing all-reduce for deep
// learning on heterogeneous network hierarchy" (MLSys 2019).
//
// With P = p0 p1 … ranks, rank = i0 + p0 (i1 + p1 (…)): a reduce-scatter per
// factor, inner to outer, each in all groups of ranks that differ in one
// digit alone, and each on the part that the one before left to this rank;
// then the all-gathers, outer to inner. The large messages stay inside, and
// all ranks of a machine share the work across.
//
// Each level has the reduce-scatter that suits its fabric. With rings, factors
// (P) are the flat ring; (2, 2, …) is recursive halving, near first.
// Chunks are operations of their own that follow each other through the stages,
// so that one is inside while another is across. Were all under way at once,
// fair cards would bring them across together, and leave the inside for last.
#include <algorithm>

#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/cost.h"
#include "weft/comm/collective/factorization.h"

namespace weft {
namespace {

using Sizes = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

struct Settings {
  Factors factors;
  std::vector<ScatterMethod> methods;  // by factor
  int chunks;
};

Settings settings_of(const Options& options, int ranks) {
  auto sizes = option<Sizes>(options, "factors");
  const auto& stages = option<Names>(options, "stage");
  if (sizes.empty()) sizes.push_back(ranks);
  Settings settings{factors_of(sizes),
                    {},
                    static_cast<int>(option<std::int64_t>(options, "chunks"))};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;  // as factors_of() does
    settings.methods.push_back(
        scatter_method(stages.size() == 1 ? stages.front() : stages[i]));
  }
  return settings;
}

// The ranks that share all digits with `rank` but the one of this stage.
std::vector<int> members_of(int rank, StageShape stage) {
  const int digit = rank / stage.stride % stage.size;
  std::vector<int> members;
  for (int i = 0; i < stage.size; ++i) {
    members.push_back(rank + (i - digit) * stage.stride);
  }
  return members;
}

// At tick t, chunk c makes its step t - c: the reduce-scatters, then the
// all-gathers.
struct Tick {
  int number = 0;
  int first = 0;  // chunk
  int last = 0;
};

std::vector<Tick> ticks_of(const Settings& settings) {
  const int steps = 2 * static_cast<int>(settings.factors.size());
  std::vector<Tick> ticks;
  for (int t = 0; t < steps + settings.chunks - 1; ++t) {
    ticks.push_back(
        {t, std::max(0, t - steps + 1), std::min(t, settings.chunks - 1)});
  }
  return ticks;
}

// What a chunk goes through at one level.
struct Stage {
  Channel group;
  Parts parts;
};

std::vector<Stage> stages_of(const Channel& channel, Interval chunk,
                             const Factors& factors) {
  std::vector<Stage> stages;
  int stride = 1;
  for (const int factor : factors) {
    stages.push_back(
        {channel.among(members_of(channel.rank(), {stride, factor})),
         Parts::near_equal(chunk, factor)});
    stride *= factor;
    // The next stage works on the part that this one leaves to this rank.
    chunk = stages.back().parts[stages.back().group.rank()];
  }
  return stages;
}

Task<> run_blueconnect(std::vector<Channel> channels, DenseBuffer buffer,
                       Options options) {
  const Settings settings = settings_of(options, channels.front().size());
  const Parts chunks = Parts::near_equal(buffer.all(), settings.chunks);
  std::vector<std::vector<Stage>> stages;
  for (int chunk = 0; chunk < settings.chunks; ++chunk) {
    stages.push_back(stages_of(channels[static_cast<std::size_t>(chunk)],
                               chunks[chunk], settings.factors));
  }
  const int levels = static_cast<int>(settings.factors.size());
  const auto one_step = [&](int chunk, int step) {
    // The second half of the steps goes back through the levels.
    const bool is_gather = step >= levels;
    const int level = is_gather ? 2 * levels - 1 - step : step;
    const auto at = static_cast<std::size_t>(level);
    const Stage& stage = stages[static_cast<std::size_t>(chunk)][at];
    const ScatterMethod method = settings.methods[at];
    return is_gather ? all_gather(method, stage.group, buffer, stage.parts)
                     : reduce_scatter(method, stage.group, buffer, stage.parts);
  };
  for (const Tick tick : ticks_of(settings)) {
    std::vector<Task<>> tasks;
    for (int chunk = tick.first; chunk <= tick.last; ++chunk) {
      tasks.push_back(one_step(chunk, tick.number - chunk));
    }
    co_await all_of(std::move(tasks));
  }
}

std::optional<Refusal> blueconnect_declines(const Options& options,
                                            const Topology& topology) {
  const auto& sizes = option<Sizes>(options, "factors");
  const std::size_t groups = std::max<std::size_t>(sizes.size(), 1);
  const std::size_t stages = option<Names>(options, "stage").size();
  if (stages != 1 && stages != groups) {
    return Refusal{fmt::format("{} stages", stages),
                   fmt::format("the factors are {}", groups),
                   "give one stage for all factors, or one for each"};
  }
  return sizes.empty() ? std::nullopt
                       : factors_decline(sizes, topology.ranks());
}

// Each tick lasts as long as the slowest of its stages or, where the messages
// of several share a fabric, until the last of them arrives.
double predict_blueconnect(const Options& options, const Topology& topology,
                           double bytes) {
  const Settings settings = settings_of(options, topology.ranks());
  std::vector<ExchangeCost> costs;
  double size = bytes / settings.chunks;
  int stride = 1;
  for (std::size_t i = 0; i < settings.factors.size(); ++i) {
    const int factor = settings.factors[i];
    costs.push_back(
        scatter_cost(topology, settings.methods[i], {stride, factor}, size));
    size /= factor;
    stride *= factor;
  }
  // An all-gather costs what its reduce-scatter does, and they come in the
  // other order.
  for (std::size_t i = costs.size(); i-- > 0;) costs.push_back(costs[i]);
  double seconds = 0;
  for (const Tick tick : ticks_of(settings)) {
    std::vector<double> busy(topology.levels.size());
    double longest = 0;
    for (int chunk = tick.first; chunk <= tick.last; ++chunk) {
      const ExchangeCost& cost =
          costs[static_cast<std::size_t>(tick.number - chunk)];
      longest = std::max(longest, cost.seconds());
      busy[static_cast<std::size_t>(cost.level)] += cost.transfer;
    }
    for (std::size_t level = 0; level < busy.size(); ++level) {
      if (busy[level] == 0) continue;
      // Chunks that are at the same level share its cards.
      longest = std::max(longest, busy[level] + topology.levels[level].latency);
    }
    seconds += longest;
  }
  return seconds;
}

// One chunk is across while another is inside only where there are both. On a
// single level they wait for each other's messages, which the prediction, by
// what the cards carry, does not see.
std::vector<std::int64_t> numbers_of_chunks(const Topology& topology) {
  if (topology.levels.size() == 1) return {1};
  return {1, 2, 4, 8, 16};
}

// Rings or halving for all; and where there are several levels, messages to all
// at once in the innermost, whose fabric is memory: elsewhere what a message
// costs beside its latency, which the model does not know, would add up.
std::vector<Names> stages_for(const Topology& topology,
                              const Factors& factors) {
  std::vector<Names> result{{"ring"}, {"halving"}};
  if (topology.levels.size() == 1) return result;
  Names mixed;
  int stride = 1;
  for (const int factor : factors) {
    mixed.push_back(stride < topology.levels.front().size ? "direct"
                                                          : "halving");
    stride *= factor;
  }
  result.push_back(std::move(mixed));
  return result;
}

std::vector<Options> variants(const Topology& topology) {
  std::vector<Options> result;
  for (const Factors& factors : compatible_factorizations(topology)) {
    for (const std::int64_t chunks : numbers_of_chunks(topology)) {
      for (const Names& stages : stages_for(topology, factors)) {
        result.push_back({{"factors", Sizes(factors.begin(), factors.end())},
                          {"stage", stages},
                          {"chunks", chunks}});
      }
    }
  }
  return result;
}

}  // namespace

void register_all_reduce_blueconnect(AllReduceRegistry& registry) {
  registry.add(
      {.name = "blueconnect",
       .summary = "reduce-scatters and all-gathers over a hierarchy of groups",
       .options = {{"factors",
                    std::vector<std::int64_t>(),
                    "sizes of the groups, innermost first; their product is "
                    "the number of ranks (empty: one group)",
                    {.least = 1, .most = Topology::kMostRanks},
                    {},
                    "ranks"},
                   {"stage",
                    Names{"ring"},
                    "inside of a group: one for all, or one for each factor",
                    {},
                    {"ring", "halving", "direct"}},
                   {"chunks",
                    std::int64_t{1},
                    "operations that the vector is cut into",
                    {.least = 1, .most = 64}}},
       .declines = blueconnect_declines,
       .variants = variants,
       .seconds = predict_blueconnect,
       .operations =
           [](const Options& options) {
             return static_cast<int>(option<std::int64_t>(options, "chunks"));
           },
       .run = run_blueconnect});
}

}  // namespace weft
