// weft-bench blueconnect: dense all-reduces on simulated clusters, by
// algorithm, against the alpha-beta model of Cho et al., "BlueConnect"
// (MLSys 2019).
//
// The algorithms run as they are, on messages without payload. As in the
// model, adding is not charged and ranks have equal shares of their card.
#include <algorithm>
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/comm/collective/chooser.h"
#include "weft/comm/transport/sim.h"

namespace weft::bench {
namespace {

// Ranks of a machine share its card to the other machines.
constexpr int kPerMachine = 4;
constexpr Level kInside{kPerMachine, 5e-6, 1 / 35e9};
constexpr Level kAcross{1, 5e-6, 1 / 10e9};

Topology cluster(int machines) {
  Level across = kAcross;
  across.size = machines;
  return {{kInside, across}};
}

// Cards that know nothing of machines: each hop of a ring in this order of
// ranks leads to another machine.
int scattered(int rank, int machines) {
  return rank % machines * kPerMachine + rank / machines;
}

struct Column {
  std::string name;
  std::string algorithm;
  bool is_scattered = false;
};

std::vector<Column> columns_of(int machines, const std::string& chosen) {
  const auto blue = [&](const std::string& factors, int chunks) {
    return fmt::format("blueconnect(factors=[{}], chunks={})", factors, chunks);
  };
  const std::string two_level = fmt::format("{},{}", kPerMachine, machines);
  std::vector<Column> columns{
      {"ring aware", "ring"},
      {"ring unaware", "ring", true},
      {"halving far-first", "rabenseifner(order=far)"},
      {"halving near-first", "rabenseifner(order=near)"},
      {"leaders", fmt::format("leaders(group={})", kPerMachine)},
      {"blueconnect " + two_level, blue(two_level, 1)},
      {"chosen", chosen}};
  for (const int chunks : {2, 4, 8, 16}) {
    columns.push_back(
        {fmt::format("blueconnect {}, {} chunks", two_level, chunks),
         blue(two_level, chunks)});
  }
  const int ranks = kPerMachine * machines;
  if (ranks == 256) {
    for (const char* factors : {"4,8,8", "2,2,2,2,2,2,2,2"}) {
      columns.push_back(
          {fmt::format("blueconnect {}", factors), blue(factors, 1)});
    }
  }
  return columns;
}

double simulate(const Topology& topology, const Column& column,
                std::size_t bytes) {
  const AllReduce algorithm(column.algorithm);
  SimWorld world(topology, {.carries_payload = false,
                            .queueing = Queueing::kFair,
                            .compute_speed = 1e9});
  std::vector<int> order(static_cast<std::size_t>(topology.ranks()));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int rank = static_cast<int>(i);
    order[i] =
        column.is_scattered ? scattered(rank, topology.levels[1].size) : rank;
  }
  return world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    Communicator ordered = all.split(order);
    const DenseBuffer buffer{DType::kF32, nullptr, bytes / sizeof(float)};
    co_await algorithm.run(ordered, buffer);
  });
}

}  // namespace

void make_blueconnect_table(const WorkerOptions& options) {
  const int machines = static_cast<int>(options.integer("machines"));
  const auto bytes = static_cast<std::size_t>(options.integer("bytes"));
  const Topology topology = cluster(machines);
  Json cells = Json::array();
  const std::string chosen = AllReduceChooser(topology).choose(bytes).text();
  for (const Column& column : columns_of(machines, chosen)) {
    cells.push_back({{"column", column.name},
                     {"algorithm", column.algorithm},
                     {"seconds", simulate(topology, column, bytes)}});
  }
  fmt::print("{}\n", Json{{"bytes", bytes}, {"cells", cells}}.dump());
}

}  // namespace weft::bench
