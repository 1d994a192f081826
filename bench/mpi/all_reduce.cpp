// weft-all-reduce PAIRS MOST_BYTES: our all-reduce against the MPI
// library's own, on the same ranks, in turns, both in place, each on a buffer
// of its own. Started by mpirun; rank 0 prints
// {"sizes": [{"bytes": n, "algorithm": "…", "ours": [s, …], "peer": [s, …]}]},
// seconds of one all-reduce each.
#include <algorithm>
#include <fmt/core.h>

#include "bench/mpi/race.h"

#include "weft/comm/collective/chooser.h"

namespace weft::bench {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLeastBytes = 1000;
constexpr std::size_t kFactor = 4;

struct Race {
  Engine& engine;
  PreparedAllReduce sum;
  std::vector<float> values;
  std::vector<float> theirs;

  void ours() { engine.run(sum.run(dense(std::span(values)).data)); }
  void peers() {
    MPI_Allreduce(MPI_IN_PLACE, theirs.data(), static_cast<int>(theirs.size()),
                  MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
};

void require_equal_sums(Race& race) {
  for (std::size_t i = 0; i < race.values.size(); ++i) {
    race.values[i] = static_cast<float>(i % 7 + 1);
  }
  race.theirs = race.values;
  race.peers();
  race.ours();
  if (race.values != race.theirs) {
    throw Error(ErrorCode::kInternal, "weft-all-reduce",
                "the sums of {} floats differ", race.values.size());
  }
}

Json race_size(Engine& engine, Communicator& all, AllReduceChooser& chooser,
               std::size_t bytes, int pairs) {
  const std::size_t count = bytes / sizeof(float);
  const AllReduce& algorithm = chooser.choose(bytes);
  Race race{engine, algorithm.prepare(all, DType::kF32, count),
            std::vector<float>(count), std::vector<float>(count)};
  require_equal_sums(race);
  // Which no number of sums overflows.
  std::ranges::fill(race.values, 0.0f);
  std::ranges::fill(race.theirs, 0.0f);
  Json found = weft::bench::race(
      pairs, [&] { race.ours(); }, [&] { race.peers(); });
  found["bytes"] = bytes;
  found["algorithm"] = algorithm.text();
  return found;
}

void race_all(Transport& transport, std::uint64_t most_bytes, int pairs) {
  Engine engine(transport);
  Communicator all(transport);
  const Topology topology = measured_topology(engine, all);
  AllReduceChooser chooser(topology);
  Json sizes = Json::array();
  for (std::size_t bytes = kLeastBytes; bytes <= most_bytes; bytes *= kFactor) {
    sizes.push_back(race_size(engine, all, chooser, bytes, pairs));
  }
  if (transport.rank() == 0) {
    fmt::print(
        "{}\n",
        Json{{"topology", to_string(topology)}, {"sizes", sizes}}.dump());
  }
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  return weft::bench::race_main(argc, argv, "weft-all-reduce", "MOST_BYTES",
                                weft::bench::race_all);
}
