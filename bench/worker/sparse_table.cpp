// weft-bench sparse-table: what sums of sparse vectors take on simulated
// networks, by each algorithm, and which one the chooser takes.
//
// The algorithms run as they are, on streams with real indices. Where the
// ranks of a case do not fit into memory together, the vector is `scale` times
// shorter and a byte and an item take `scale` times as long: densities, and so
// fills and times, stay what they are, but for rounding. What is dense runs
// without values, at its full size.
//
// Columns cut vectors into parts of equal lengths. A pick may cut elsewhere,
// and where ranks ask each other first (survey.h), that is part of its time.
// Every rank knows how many items the others have. The bar of all is the dense
// all-reduce that AllReduceChooser takes for the network.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/comm/collective/chooser.h"
#include "weft/comm/sparse/chooser.h"
#include "weft/comm/sparse/exchange.h"
#include "weft/comm/sparse/survey.h"
#include "weft/comm/transport/sim.h"

namespace weft::bench {
namespace {

constexpr std::uint64_t kSize = std::uint64_t{1} << 24;
constexpr double kMostBytes = 256e6;  // of all ranks of a case, about

struct Skew {
  const char* name;
  // Element i is drawn with a chance of i^(1/power - 1).
  double power;
};
constexpr Skew kSkews[] = {{"uniform", 1}, {"power-law", 2}};

struct Network {
  const char* name;
  Level level;
};
const Network kNetworks[] = {{"10 GB/s, 2 us", {1, 2e-6, 1 / 10e9}},
                             {"1 GB/s, 50 us", {1, 50e-6, 1 / 1e9}}};

struct Case {
  int ranks;
  double density;
  Skew skew;

  std::uint64_t items(std::uint64_t scale) const {
    const double wanted = density * static_cast<double>(kSize / scale);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  }
};

struct Column {
  std::string name;
  std::string algorithm;
  const ValueCodec* quantizer = nullptr;
};

// `items` places, all different.
Stream draw(const Case& drawn, std::uint64_t scale, std::uint32_t seed) {
  const std::uint64_t size = kSize / scale;
  const std::uint64_t items = drawn.items(scale);
  const RandomStream random{seed, static_cast<std::uint32_t>(drawn.ranks), 0};
  std::vector<std::uint32_t> indices;
  std::uint64_t next = 0;
  while (indices.size() < items) {
    for (std::uint64_t i = indices.size(); i < items; ++i, ++next) {
      const double place = (random.word(next) + 0.5) * 0x1p-32;
      indices.push_back(static_cast<std::uint32_t>(
          static_cast<double>(size) * std::pow(place, drawn.skew.power)));
    }
    std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  }
  std::vector<float> values(indices.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 1 + static_cast<float>(i % 7);
  }
  return Stream::of<std::uint32_t, float>(size, indices, values);
}

std::vector<Stream> draw_all(const Case& drawn, std::uint64_t scale) {
  std::vector<Stream> streams;
  for (int rank = 0; rank < drawn.ranks; ++rank) {
    streams.push_back(draw(drawn, scale, static_cast<std::uint32_t>(rank)));
  }
  return streams;
}

SumRates slower(SumRates rates, double factor) {
  for (double* rate : {&rates.merge, &rates.scatter, &rates.add, &rates.clear,
                       &rates.quantize, &rates.dequantize}) {
    *rate *= factor;
  }
  return rates;
}

std::uint64_t scale_of(const Case& drawn, const SparseAllReduceDef& algorithm) {
  const double values = static_cast<double>(kSize) * sizeof(float);
  const double items =
      expected_items(static_cast<double>(kSize),
                     static_cast<double>(drawn.items(1)), drawn.ranks);
  double held =
      algorithm.is_result_dense ? values : std::min(values, 8 * items);
  if (algorithm.name == "gather_pairs") {
    held = drawn.ranks *
           std::min(values, 8. * static_cast<double>(drawn.items(1)));
  }
  std::uint64_t scale = 1;
  while (3 * held * drawn.ranks / static_cast<double>(scale) > kMostBytes) {
    scale *= 2;
  }
  return scale;
}

// A case as its ranks have it, `scale` times shorter.
struct Scaled {
  const Case& drawn;
  Level network;  // a byte takes `scale` times as long
  SumRates rates;
  std::vector<Stream> streams;
  std::uint64_t items;  // of each

  Scaled(const Case& of, const Level& level, std::uint64_t scale)
      : drawn(of),
        network{of.ranks, level.latency,
                level.seconds_per_byte * static_cast<double>(scale)},
        rates(slower({}, static_cast<double>(scale))),
        streams(draw_all(of, scale)),
        items(of.items(scale)) {}

  SparseChooser chooser() const {
    return {streams[0].type(), drawn.ranks, network, rates};
  }
};

double simulate(const SparseAllReduceDef& algorithm, SparseOptions options,
                const Scaled& scaled) {
  SimWorld world({{scaled.network}});
  options.most_items = scaled.items;
  options.rates = scaled.rates;
  return world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    Stream stream =
        scaled.streams[static_cast<std::size_t>(transport.rank())].copy();
    const OperationInfo info{"sparse_all_reduce", algorithm.name};
    co_await algorithm.run(all.open(info), stream, options);
  });
}

// The seconds that a sum of dense vectors of kSize elements takes.
double simulate_dense(
    const Level& network, int ranks,
    const std::function<Task<>(Communicator&, DenseBuffer)>& sum) {
  SimWorld world({{{ranks, network.latency, network.seconds_per_byte}}},
                 {.carries_payload = false});
  return world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    co_await sum(all, {DType::kF32, nullptr, kSize});
  });
}

struct Surveyed {
  Support support;
  double seconds = 0;
};

Surveyed simulate_survey(const Level& network, const Scaled& scaled) {
  SimWorld world(
      {{{scaled.drawn.ranks, network.latency, network.seconds_per_byte}}});
  Surveyed result;
  result.seconds = world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const auto rank = static_cast<std::size_t>(transport.rank());
    const Channel channel = all.open({"survey", ""});
    Survey found = co_await survey(channel, scaled.streams[rank]);
    if (rank == 0) result.support = std::move(found.support);
  });
  return result;
}

// What does not depend on supports.
struct Dense {
  double best = 0;  // by AllReduceChooser
  double ours = 0;  // algorithm dense

  Dense(const Level& network, int ranks) {
    AllReduceChooser chooser(
        {{{ranks, network.latency, network.seconds_per_byte}}});
    const AllReduce& chosen = chooser.choose(kSize * sizeof(float));
    best = simulate_dense(network, ranks,
                          [&](Communicator& all, DenseBuffer buffer) {
                            return chosen.run(all, buffer);
                          });
    ours = simulate_dense(
        network, ranks, [](Communicator& all, DenseBuffer buffer) {
          return sum_dense(all.open({"sum_dense", ""}), buffer);
        });
  }
};

class Row {
 public:
  Row(const Case& drawn, const Network& network, const Dense& dense,
      const std::vector<Column>& columns, double quantized_bytes)
      : drawn_(drawn),
        network_(network),
        dense_(dense),
        columns_(columns),
        quantized_bytes_(quantized_bytes) {}

  Json measure() {
    row_ = {{"ranks", drawn_.ranks},
            {"density", drawn_.density},
            {"support", drawn_.skew.name},
            {"network", network_.name}};
    row_["milliseconds"]["all-reduce"] = 1e3 * dense_.best;
    double best = dense_.best;
    double best_exact = dense_.best;
    for (const Column& column : columns_) {
      const double seconds = measure(column, {});
      row_["milliseconds"][column.name] = 1e3 * seconds;
      best = std::min(best, seconds);
      if (column.quantizer == nullptr) {
        best_exact = std::min(best_exact, seconds);
      }
    }
    pick("pick", quantized_bytes_, best);
    pick("exact_pick", 0, best_exact);
    return row_;
  }

 private:
  const Scaled& scaled(std::uint64_t scale) {
    return scaled_.try_emplace(scale, drawn_, network_.level, scale)
        .first->second;
  }

  double measure(const Column& column, const Partitions& partitions) {
    if (column.algorithm == "dense") return dense_.ours;
    const auto& algorithm = sparse_all_reduce_registry().get(column.algorithm);
    return simulate(algorithm,
                    {.partitions = partitions, .quantizer = column.quantizer},
                    scaled(scale_of(drawn_, algorithm)));
  }

  void pick(const char* key, double quantized_bytes, double best) {
    // First where sparse streams fit, then where the pick does.
    const auto& sparse = sparse_all_reduce_registry().get("split_allgather");
    const Scaled* in = &scaled(scale_of(drawn_, sparse));
    SparseChoice choice;
    Surveyed surveyed;
    for (int i = 0; i < 2; ++i) {
      const SparseChooser chooser = in->chooser();
      const auto items = static_cast<double>(in->items);
      if (chooser.should_survey(items)) {
        surveyed = simulate_survey(network_.level, *in);
        choice = chooser.choose(surveyed.support, quantized_bytes);
      } else {
        surveyed = {};
        choice = chooser.choose_blindly(items, quantized_bytes);
      }
      in = &scaled(scale_of(drawn_, *choice.algorithm));
    }
    const std::string name =
        choice.algorithm->name + (choice.is_quantized ? " 4-bit" : "");
    const auto column = std::ranges::find(columns_, name, &Column::name);
    const double seconds =
        surveyed.seconds + measure(*column, choice.partitions);
    row_[key] = {{"name", name},
                 {"survey_milliseconds", 1e3 * surveyed.seconds},
                 {"expected_milliseconds", 1e3 * choice.seconds},
                 {"milliseconds", 1e3 * seconds},
                 {"over_best", seconds / best},
                 {"over_dense", seconds / dense_.best}};
  }

  const Case& drawn_;
  const Network& network_;
  const Dense& dense_;
  const std::vector<Column>& columns_;
  double quantized_bytes_;
  std::map<std::uint64_t, Scaled> scaled_;
  Json row_;
};

}  // namespace

void make_sparse_table(const WorkerOptions& options) {
  const auto& def = value_codec_registry().get("qsgd");
  const auto quantizer =
      def.make(complete(def.options, {{"bits", std::int64_t{4}}}, def.name));
  constexpr double kQuantizedBytes = 0.5 + 4. / 512;  // a norm per bucket
  std::vector<Column> columns;
  for (const auto& algorithm : sparse_all_reduce_registry().all()) {
    columns.push_back({algorithm.name, algorithm.name});
    if (algorithm.can_quantize()) {
      columns.push_back(
          {algorithm.name + " 4-bit", algorithm.name, quantizer.get()});
    }
  }
  const int ranks = static_cast<int>(options.integer("ranks"));
  Json rows = Json::array();
  for (const Network& network : kNetworks) {
    const Dense dense(network.level, ranks);
    for (const Skew& skew : kSkews) {
      for (const double density : {1e-5, 1e-4, 1e-3, 1e-2, 5e-2, 1e-1}) {
        const Case drawn{ranks, density, skew};
        rows.push_back(
            Row(drawn, network, dense, columns, kQuantizedBytes).measure());
      }
    }
  }
  fmt::print("{}\n", Json{{"size", kSize}, {"rows", rows}}.dump());
}

}  // namespace weft::bench
