// weft-sparse-sum PAIRS VALUES: sums of sparse vectors of so many values, by
// the algorithm that is chosen, against the MPI library's all-reduce of the
// same vectors with their zeros, on the same ranks, in turns. Started by
// mpirun; rank 0 prints {"sums": [{"density": d, "algorithm": "…", "ours": [s,
// …], "peer": [s, …]}]}, seconds of one sum each.
#include <algorithm>
#include <fmt/core.h>

#include "bench/mpi/race.h"

#include "weft/base/philox.h"
#include "weft/comm/sparse/chooser.h"

namespace weft::bench {
namespace {

using Json = nlohmann::json;

constexpr double kDensities[] = {1e-4, 1e-3, 1e-2, 1e-1};

struct Items {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};

// Small integers, whose sums are the same in any order.
Items contribution(int rank, std::uint64_t size, double density) {
  const RandomStream random{1, static_cast<std::uint32_t>(rank), 0};
  Items items;
  for (std::uint64_t i = 0; i < size; ++i) {
    if (uniform_from(random.word(i)) >= static_cast<float>(density)) continue;
    items.indices.push_back(static_cast<std::uint32_t>(i));
    items.values.push_back(static_cast<float>(i % 7 + 1));
  }
  return items;
}

struct Race {
  Engine& engine;
  Communicator& all;
  NamedOperation operation;
  SparseChooser chooser;
  Items mine;
  Stream sum;
  std::string algorithm;
  std::vector<float> whole;

  // As training does: it is not known what others contribute.
  Task<> add() {
    sum = Stream::of<std::uint32_t, float>(whole.size(), mine.indices,
                                           mine.values);
    // They have names since GCC 12 destroys twice what is made within a
    // co_await.
    const Channel channel = all.open(operation);
    const SparseOptions options;
    const SparseChoice choice =
        co_await sparse_all_reduce(channel, sum, chooser, options);
    algorithm = choice.algorithm->name;
  }
  void ours() { engine.run(add()); }
  void peers() {
    MPI_Allreduce(MPI_IN_PLACE, whole.data(), static_cast<int>(whole.size()),
                  MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
};

void require_equal_sums(Race& race) {
  for (std::size_t i = 0; i < race.mine.indices.size(); ++i) {
    race.whole[race.mine.indices[i]] = race.mine.values[i];
  }
  race.peers();
  race.ours();
  std::vector<float> found(race.whole.size());
  race.sum.copy_to(std::span(found));
  if (found != race.whole) {
    throw Error(ErrorCode::kInternal, "weft-sparse-sum",
                "the sums of {} floats differ", found.size());
  }
}

Json race_density(Engine& engine, Communicator& all, const Level& network,
                  std::uint64_t size, double density, int pairs) {
  const StreamType type{DType::kF32, size};
  Race race{engine,
            all,
            NamedOperation({"sparse_all_reduce", "the race"}),
            SparseChooser(type, all.size(), network),
            contribution(all.rank(), size, density),
            {},
            {},
            std::vector<float>(size)};
  require_equal_sums(race);
  // Sums of zeros, of which no number overflows, cost the same.
  std::ranges::fill(race.whole, 0.0f);
  Json found = weft::bench::race(
      pairs, [&] { race.ours(); }, [&] { race.peers(); });
  found["density"] = density;
  found["algorithm"] = race.algorithm;
  return found;
}

void race_all(Transport& transport, std::uint64_t size, int pairs) {
  Engine engine(transport);
  Communicator all(transport);
  const Topology topology = measured_topology(engine, all);
  Json sums = Json::array();
  for (const double density : kDensities) {
    sums.push_back(
        race_density(engine, all, flat_level(topology), size, density, pairs));
  }
  if (transport.rank() == 0) fmt::print("{}\n", Json{{"sums", sums}}.dump());
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  return weft::bench::race_main(argc, argv, "weft-sparse-sum", "VALUES",
                                weft::bench::race_all);
}
