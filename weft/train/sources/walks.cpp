// Nodes of a graph with nodes that random walks meet near them (Perozzi,
// Al-Rfou and Skiena, "DeepWalk: online learning of social representations",
// KDD 2014). Measured on edges that no walk takes: each beside nodes that its
// first end is not joined to.
#include <filesystem>

#include "weft/base/permutation.h"
#include "weft/base/refusal.h"
#include "weft/data/fetch.h"
#include "weft/data/numbered_source.h"
#include "weft/data/walk_graph.h"
#include "weft/train/step/training_data.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Each use draws from a stream of its own, so that none repeats another's
// numbers.
constexpr std::uint32_t kOrderStream = 0x77616C31;   // "wal1"
constexpr std::uint32_t kStepStream = 0x77616C32;    // "wal2"
constexpr std::uint32_t kOthersStream = 0x77616C33;  // "wal3"

// The features of a pair, in order.
enum PairPart : std::size_t { kNode, kNear, kOthers };

class WalkDescription final : public DataDescription {
 public:
  WalkDescription(const std::string& name, const WalkGraph& graph,
                  std::int64_t others) {
    name_ = name;
    classes_ = graph.names();
    features_ = {{"node", {DType::kI32, {}}},
                 {"near", {DType::kI32, {}}},
                 {"others", {DType::kI32, {others}}}};
  }
};

struct WalkOptions {
  std::int64_t walks = 0;   // from each node, in an epoch
  std::int64_t length = 0;  // nodes of one
  std::int64_t window = 0;  // how far apart on a walk nodes are near
  std::uint64_t seed = 0;
};

// The places on a walk that are near each other.
std::vector<std::pair<std::int64_t, std::int64_t>> near_places(
    const WalkOptions& options) {
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (std::int64_t i = 0; i < options.length; ++i) {
    for (std::int64_t j = 0; j < options.length; ++j) {
      // Pairs are taken in both orders: each of the two nodes is near the
      // other.
      if (i != j && std::abs(i - j) <= options.window) places.push_back({i, j});
    }
  }
  return places;
}

class WalkSource final : public NumberedSource {
 public:
  // An epoch has every near pair of every walk from every node.
  WalkSource(const DataDescription& data,
             std::shared_ptr<const WalkGraph> graph, const WalkOptions& walk,
             const NumberedOptions& options)
      : NumberedSource(data,
                       graph->nodes() * walk.walks *
                           static_cast<std::int64_t>(near_places(walk).size()),
                       options),
        graph_(std::move(graph)),
        options_(walk),
        places_(near_places(walk)),
        walk_(static_cast<std::size_t>(walk.length)) {}

 protected:
  void fill(std::int64_t epoch, std::int64_t number) override {
    const auto per_walk = static_cast<std::int64_t>(places_.size());
    go(epoch, number / per_walk);
    const auto [at, near] =
        places_[static_cast<std::size_t>(number % per_walk)];
    row<std::int32_t>(kNode)[0] = walk_[static_cast<std::size_t>(at)];
    row<std::int32_t>(kNear)[0] = walk_[static_cast<std::size_t>(near)];
    const std::span<std::int32_t> others = row<std::int32_t>(kOthers);
    const RandomStream random{options_.seed, kOthersStream,
                              static_cast<std::uint32_t>(epoch)};
    // Negative samples are drawn by frequency and may be neighbours by chance
    // (Mikolov et al., 2013, section 2.2).
    for (std::size_t k = 0; k < others.size(); ++k) {
      // Each pair has words of its own, whichever worker draws them.
      const PhiloxBlock words =
          random.block(static_cast<std::uint64_t>(number) * others.size() + k);
      others[k] = graph_->frequent_node(words[0], words[1]);
    }
  }

 private:
  // Neighbouring pairs are of one walk, which is gone once.
  void go(std::int64_t epoch, std::int64_t number) {
    if (gone_ == BatchPosition{epoch, number}) return;
    gone_ = {epoch, number};
    const auto step = static_cast<std::uint32_t>(epoch);
    const auto all =
        static_cast<std::uint64_t>(graph_->nodes() * options_.walks);
    // Walks begin in another order in each epoch, which needs no table of them.
    const Permutation order(all, options_.seed, kOrderStream, step);
    const RandomStream random{options_.seed, kStepStream, step};
    // Each node begins `walks` of all walks: the quotient names it.
    walk_[0] =
        static_cast<std::int32_t>(order(static_cast<std::uint64_t>(number)) /
                                  static_cast<std::uint64_t>(options_.walks));
    for (std::size_t t = 1; t < walk_.size(); ++t) {
      // The word follows from the walk and the place alone, so that a worker
      // makes its walks without those of others.
      const auto index = static_cast<std::uint64_t>(number) * walk_.size() + t;
      walk_[t] = graph_->neighbour(walk_[t - 1], random.word(index));
    }
  }

  std::shared_ptr<const WalkGraph> graph_;
  WalkOptions options_;
  std::vector<std::pair<std::int64_t, std::int64_t>> places_;
  std::vector<std::int32_t> walk_;
  BatchPosition gone_{-1, -1};
};

// The edges that are held out, the same in each epoch.
class HeldOutSource final : public NumberedSource {
 public:
  HeldOutSource(const DataDescription& data,
                std::shared_ptr<const WalkGraph> graph,
                const NumberedOptions& options)
      : NumberedSource(
            data, static_cast<std::int64_t>(graph->held_out().size()), options),
        graph_(std::move(graph)) {}

 protected:
  void fill(std::int64_t, std::int64_t number) override {
    const auto edge = graph_->held_out()[static_cast<std::size_t>(number)];
    row<std::int32_t>(kNode)[0] = static_cast<std::int32_t>(edge.a);
    row<std::int32_t>(kNear)[0] = static_cast<std::int32_t>(edge.b);
    const std::span<std::int32_t> others = row<std::int32_t>(kOthers);
    // The recipe's seed is left out: runs of other seeds are measured against
    // the same nodes.
    const RandomStream random{.stream = kOthersStream};
    for (std::size_t k = 0; k < others.size(); ++k) {
      others[k] = graph_->stranger(
          static_cast<std::int32_t>(edge.a),
          random.word(static_cast<std::uint64_t>(number) * others.size() + k));
    }
  }

 private:
  std::shared_ptr<const WalkGraph> graph_;
};

// A graph by name, and what its file may be called.
struct GraphSet {
  DatasetDef def;
  std::vector<std::string> files;
};

fs::path file_in(const GraphSet& set, const fs::path& folder) {
  for (const std::string& file : set.files) {
    if (fs::is_regular_file(folder / file)) return folder / file;
  }
  return {};
}

const std::vector<GraphSet>& graph_sets() {
  static const std::vector<GraphSet> sets{
      {{.name = "cora",
        .summary = "citations among 2,708 papers",
        .is_in =
            [](const fs::path& folder) {
              return fs::is_regular_file(folder / "cora.edges.txt");
            },
        .terms = "put cora.edges.txt into a "
                 "folder and name it with --data"},
       {"cora.edges.txt"}},
      {{.name = "ego-facebook",
        .summary = "friends of ten people on Facebook, and theirs",
        .is_in =
            [](const fs::path& folder) {
              return fs::is_regular_file(folder / "facebook_combined.txt");
            },
        .terms = "from snap.stanford.edu: put facebook_combined.txt into a "
                 "folder and name it with --data"},
       {"facebook_combined.txt"}},
      {{.name = "edge-list",
        .summary = "edges.txt with a line \"u v\" for each edge",
        .is_in =
            [](const fs::path& folder) {
              return fs::is_regular_file(folder / "edges.txt") ||
                     fs::is_regular_file(folder / "edges.txt.gz");
            },
        .terms = "your own data: edges.txt or edges.txt.gz",
        .is_named_set = false},
       {"edges.txt", "edges.txt.gz"}}};
  return sets;
}

std::vector<std::string> graph_names() {
  std::vector<std::string> names;
  for (const GraphSet& set : graph_sets()) names.push_back(set.def.name);
  return names;
}

const GraphSet& graph_set(std::string_view name) {
  for (const GraphSet& set : graph_sets()) {
    if (set.def.name == name) return set;
  }
  const std::string near = nearest(name, graph_names());
  throw Error(ErrorCode::kInvalidArgument, "walks", "no graph '{}'{}", name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))
      .hint("\"edge-list\" reads edges.txt of data.folder");
}

std::vector<OptionSpec> walk_options() {
  return {
      {"walks", std::int64_t{1}, "from each node, in an epoch", {.least = 1}},
      {"length",
       std::int64_t{40},
       "of a walk",
       {.least = 2, .most = 4096},
       {},
       "nodes"},
      {"window",
       std::int64_t{5},
       "how far apart on a walk nodes are near each other",
       {.least = 1, .most = 4096},
       {},
       "nodes"},
      {"others",
       std::int64_t{5},
       "nodes that each pair is told from",
       {.least = 1, .most = 4096}},
      {"held_out",
       0.1,
       "share of the edges that the model is measured on",
       {.least = 0, .most = 1, .is_open_below = true, .is_open_above = true}}};
}

WalkGraph read_graph(const DataOptions& options) {
  const GraphSet& set = graph_set(options.name);
  const fs::path file = file_in(set, locate_data(set.def, options.folder));
  WalkGraph graph(concurrent::read_edge_list(file),
                  option<double>(options.own, "held_out"), file.string());
  if (!graph.held_out().empty()) return graph;
  throw Error(ErrorCode::kInvalidArgument, "data.held_out",
              "no edge of {} can be held out, so there is nothing to measure "
              "on",
              file.string())
      .hint("every node keeps one edge at least; hold out a larger share");
}

class WalkedData final : public TrainingData {
 public:
  explicit WalkedData(const DataOptions& options)
      : options_(options),
        graph_(std::make_shared<WalkGraph>(read_graph(options))),
        description_(options.name, *graph_,
                     option<std::int64_t>(options.own, "others")) {
    if (options.augment.empty()) return;
    throw refused(
        "data.augment", in_quotes(options.augment.front()),
        {in_quotes(options.name), "it is for images, and that is a graph",
         "leave data.augment out"});
  }

  const DataDescription& description() const override { return description_; }
  bool has(DataPart part) const override { return part != DataPart::kValid; }

  std::unique_ptr<BatchSource> train(const Shard& shard) const override {
    const auto count = [&](const char* name) {
      return option<std::int64_t>(options_.own, name);
    };
    return std::make_unique<WalkSource>(
        description_, graph_,
        WalkOptions{.walks = count("walks"),
                    .length = count("length"),
                    .window = count("window"),
                    .seed = options_.seed},
        NumberedOptions{options_.batch, options_.drop_last, shard});
  }

  std::unique_ptr<BatchSource> measure(DataPart,
                                       const Shard& shard) const override {
    // One set of edges is held out, whichever part is asked for.
    return std::make_unique<HeldOutSource>(
        description_, graph_,
        NumberedOptions{.batch = options_.batch, .shard = shard});
  }

  std::vector<std::pair<std::string, std::string>> fingerprint()
      const override {
    std::uint64_t sum = 0;
    for (const concurrent::Edge edge : graph_->held_out()) {
      // The sum depends on every edge and on their order, which others would
      // have drawn otherwise.
      sum = sum * 0x9E3779B97F4A7C15 + edge.a * std::uint64_t{0x100000001} +
            edge.b;
    }
    return {{"graph", fmt::format("{} nodes, {} edges held out",
                                  graph_->nodes(), graph_->held_out().size())},
            {"edges held out", fmt::format("{:016x}", sum)}};
  }

 private:
  DataOptions options_;
  std::shared_ptr<const WalkGraph> graph_;  // sources keep it
  WalkDescription description_;
};

}  // namespace

void register_batch_source_walks(BatchSourceRegistry& sources) {
  sources.add(
      {.name = "walks",
       .summary = "pairs of nodes that random walks over a graph meet together",
       .options =
           [](const std::string& name) {
             graph_set(name);
             return walk_options();
           },
       .names = graph_names,
       .open = [](const DataOptions& options) -> std::unique_ptr<TrainingData> {
         return std::make_unique<WalkedData>(options);
       }});
}

}  // namespace weft
