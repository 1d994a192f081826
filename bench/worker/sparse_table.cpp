// weft-bench sparse-table: what sums of sparse vectors take on simulated
// networks, by each algorithm, and which one the chooser takes.
//
// The algorithms run as they are, on streams with real indices. Where the
// ranks of a case do not fit into memory together, the vector is `scale` times
// shorter and a byte and an item take `scale` times as long: densities, and so
// fills and times, stay what they are, but for rounding.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/comm/sparse/chooser.h"
#include "weft/comm/sparse/exchange.h"
#include "weft/comm/sparse/fill.h"
#include "weft/comm/transport/sim.h"

namespace weft::bench {
namespace {

constexpr std::uint64_t kSize = std::uint64_t{1} << 24;
constexpr double kMostBytes = 256e6;  // of all ranks of a case, about

struct Support {
  const char* name;
  // Element i is drawn with a chance of i^(1/power - 1).
  double power;
};
constexpr Support kSupports[] = {{"uniform", 1}, {"power-law", 2}};

struct Network {
  const char* name;
  Level level;
};
const Network kNetworks[] = {{"10 GB/s, 2 us", {1, 2e-6, 1 / 10e9}},
                             {"1 GB/s, 50 us", {1, 50e-6, 1 / 1e9}}};

struct Case {
  int ranks;
  double density;
  Support support;

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
          static_cast<double>(size) * std::pow(place, drawn.support.power)));
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

std::vector<Stream> draw_all(const Case& drawn, std::uint64_t scale,
                             std::uint32_t step) {
  std::vector<Stream> streams;
  for (int rank = 0; rank < drawn.ranks; ++rank) {
    streams.push_back(
        draw(drawn, scale, step * 1000 + static_cast<std::uint32_t>(rank)));
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

double simulate(const Column& column, const Level& network,
                const std::vector<Stream>& streams, std::uint64_t items,
                std::uint64_t scale) {
  const auto factor = static_cast<double>(scale);
  SimWorld world({{{static_cast<int>(streams.size()), network.latency,
                    network.seconds_per_byte * factor}}});
  const SparseOptions options{.most_items = items,
                              .quantizer = column.quantizer,
                              .message = {},
                              .rates = slower({}, factor)};
  const auto& algorithm = sparse_all_reduce_registry().get(column.algorithm);
  const auto run_rank = [&](Transport& transport) -> Task<> {
    Communicator all(transport);
    Stream stream = streams[static_cast<std::size_t>(transport.rank())].copy();
    const OperationInfo info{"sparse_all_reduce", column.name};
    const Channel channel = all.open(info);
    co_await algorithm.run(channel, stream, options);
  };
  return world.run(run_rank);
}

// The sum of an earlier step, which the chooser has seen.
Stream earlier_sum(const Case& drawn, std::uint64_t scale) {
  SumTree tree({});
  for (Stream& stream : draw_all(drawn, scale, 2)) tree.add(std::move(stream));
  tree.finish();
  return std::move(tree).result();
}

Json measure(const Case& drawn, const Network& network,
             const std::vector<Column>& columns, double quantized_bytes) {
  Json row = {{"ranks", drawn.ranks},
              {"density", drawn.density},
              {"support", drawn.support.name},
              {"network", network.name}};
  std::map<std::uint64_t, std::vector<Stream>> streams;
  double best = INFINITY;
  double best_exact = INFINITY;
  std::uint64_t coarsest = 1;
  for (const Column& column : columns) {
    const std::uint64_t scale =
        scale_of(drawn, sparse_all_reduce_registry().get(column.algorithm));
    coarsest = std::max(coarsest, scale);
    auto& inputs = streams[scale];
    if (inputs.empty()) inputs = draw_all(drawn, scale, 1);
    const double seconds =
        simulate(column, network.level, inputs, drawn.items(scale), scale);
    row["milliseconds"][column.name] = 1e3 * seconds;
    row["scale"][column.name] = scale;
    best = std::min(best, seconds);
    if (column.quantizer == nullptr) best_exact = std::min(best_exact, seconds);
  }
  // A chooser for the vector of the case, and what it saw.
  const std::uint64_t seen_scale = std::min<std::uint64_t>(coarsest, 16);
  const Level shown{
      1, network.level.latency,
      network.level.seconds_per_byte * static_cast<double>(seen_scale)};
  SparseChooser chooser({DType::kF32, kSize / seen_scale}, drawn.ranks, shown,
                        slower({}, static_cast<double>(seen_scale)));
  chooser.observe(earlier_sum(drawn, seen_scale));
  const auto items = static_cast<double>(drawn.items(seen_scale));
  for (const bool may_quantize : {false, true}) {
    const SparseChoice choice =
        chooser.choose(items, may_quantize ? quantized_bytes : 0);
    const std::string pick =
        choice.algorithm->name + (choice.is_quantized ? " 4-bit" : "");
    const double seconds = row["milliseconds"][pick].get<double>() / 1e3;
    const char* key = may_quantize ? "pick" : "exact_pick";
    row[key] = {{"name", pick},
                {"expected_milliseconds", 1e3 * choice.seconds},
                {"over_best", seconds / (may_quantize ? best : best_exact)},
                {"over_dense",
                 seconds * 1e3 / row["milliseconds"]["dense"].get<double>()}};
  }
  return row;
}

}  // namespace

void make_sparse_table(const WorkerOptions& options) {
  const auto& def = value_codec_registry().get("qsgd");
  const auto quantizer =
      def.make(complete(def.options, {{"bits", std::int64_t{4}}}, def.name));
  constexpr double kQuantizedBytes = 0.5 + 4. / 512;  // a norm per bucket
  std::vector<Column> columns;
  for (const auto& algorithm : sparse_all_reduce_registry().all()) {
    columns.push_back({algorithm.name, algorithm.name});
    if (algorithm.can_quantize) {
      columns.push_back(
          {algorithm.name + " 4-bit", algorithm.name, quantizer.get()});
    }
  }
  const int ranks = static_cast<int>(options.integer("ranks"));
  Json rows = Json::array();
  for (const Network& network : kNetworks) {
    for (const Support& support : kSupports) {
      for (const double density : {1e-5, 1e-4, 1e-3, 1e-2, 5e-2, 1e-1}) {
        rows.push_back(measure({ranks, density, support}, network, columns,
                               kQuantizedBytes));
      }
    }
  }
  fmt::print("{}\n", Json{{"size", kSize}, {"rows", rows}}.dump());
}

}  // namespace weft::bench
