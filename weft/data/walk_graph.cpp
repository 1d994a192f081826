#include "weft/data/walk_graph.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"
#include "weft/base/permutation.h"

namespace weft {
namespace {

using concurrent::Edge;

// Not the recipe's: runs of other seeds are measured on the same edges.
constexpr std::uint64_t kHeldOutSeed = 1;
constexpr std::uint32_t kHeldOutStream = 0x6865646F;  // "hedo"
constexpr double kPower = 0.75;

// A number below `size` from a random word.
std::size_t below(std::size_t size, std::uint32_t word) {
  // This is Lemire's method without its rejection (2019): a word of 32 bits
  // favours some of `size` numbers by less than size / 2^32.
  return static_cast<std::size_t>((std::uint64_t{word} * size) >> 32);
}

}  // namespace

WalkGraph::WalkGraph(const concurrent::NamedEdges& edges, double share,
                     std::string_view where)
    : all_(0, {}), walked_(0, {}) {
  const std::vector<Edge> simple = simple_edges(edges.edges);
  if (simple.size() < 2) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "{} edges between different nodes are no graph to walk on",
                simple.size());
  }
  // A node whose only edges are to itself has nowhere to go.
  std::vector<concurrent::Vertex> number(edges.vertices());
  std::vector<bool> has_edge(edges.vertices());
  for (const Edge edge : simple) has_edge[edge.a] = has_edge[edge.b] = true;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (!has_edge[i]) continue;
    number[i] = static_cast<concurrent::Vertex>(names_.size());
    names_.push_back(std::to_string(edges.names[i]));
  }
  std::vector<Edge> kept;
  for (const Edge edge : simple) {
    kept.push_back({number[edge.a], number[edge.b]});
  }
  all_ =
      concurrent::Graph(static_cast<concurrent::Vertex>(names_.size()), kept);
  hold_out(kept, share);
  weigh_nodes();
}

void WalkGraph::hold_out(const std::vector<Edge>& edges, double share) {
  std::vector<std::size_t> degrees;
  for (concurrent::Vertex v = 0; v < all_.vertices(); ++v) {
    degrees.push_back(all_.neighbours(v).size());
  }
  const auto most =
      static_cast<std::size_t>(share * static_cast<double>(edges.size()));
  const Permutation order(edges.size(), kHeldOutSeed, kHeldOutStream, 0);
  std::vector<Edge> walked;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Edge edge = edges[order(i)];
    // Every node keeps an edge, as a walk that comes to it has to go on.
    if (held_out_.size() < most && degrees[edge.a] > 1 && degrees[edge.b] > 1) {
      --degrees[edge.a];
      --degrees[edge.b];
      held_out_.push_back(edge);
    } else {
      walked.push_back(edge);
    }
  }
  walked_ = concurrent::Graph(all_.vertices(), walked);
}

void WalkGraph::weigh_nodes() {
  const std::size_t count = names_.size();
  std::vector<double> weights;
  double sum = 0;
  for (concurrent::Vertex v = 0; v < count; ++v) {
    weights.push_back(
        std::pow(static_cast<double>(walked_.neighbours(v).size()), kPower));
    sum += weights.back();
  }
  // Walker's alias method ("An efficient method for generating discrete random
  // variables", 1977): each place of a table belongs to one or two nodes, so
  // that a draw takes one look, however many nodes there are.
  std::vector<std::size_t> small;
  std::vector<std::size_t> large;
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] *= static_cast<double>(count) / sum;
    (weights[i] < 1 ? small : large).push_back(i);
  }
  // What rounding leaves over stands for itself.
  keeps_.assign(count, 1);
  alias_.assign(count, 0);
  while (!small.empty() && !large.empty()) {
    const std::size_t poor = small.back();
    const std::size_t rich = large.back();
    small.pop_back();
    keeps_[poor] = static_cast<float>(weights[poor]);
    alias_[poor] = static_cast<std::int32_t>(rich);
    // The rich one fills up the poor one's place to 1.
    weights[rich] -= 1 - weights[poor];
    if (weights[rich] >= 1) continue;
    large.pop_back();
    small.push_back(rich);
  }
}

std::int32_t WalkGraph::neighbour(std::int32_t node, std::uint32_t word) const {
  const auto all = walked_.neighbours(static_cast<concurrent::Vertex>(node));
  return static_cast<std::int32_t>(all[below(all.size(), word)]);
}

std::int32_t WalkGraph::frequent_node(std::uint32_t place,
                                      std::uint32_t word) const {
  const std::size_t node = below(names_.size(), place);
  const bool stays = uniform_from(word) < keeps_[node];
  return stays ? static_cast<std::int32_t>(node) : alias_[node];
}

std::int32_t WalkGraph::stranger(std::int32_t node, std::uint32_t word) const {
  const auto known = all_.neighbours(static_cast<concurrent::Vertex>(node));
  std::size_t found = below(names_.size(), word);
  // The next one that is no neighbour is taken, so that one word is enough. A
  // node that knows all others gets one of them.
  for (std::size_t tries = 0; tries < names_.size(); ++tries) {
    const auto vertex = static_cast<concurrent::Vertex>(found);
    if (static_cast<std::int32_t>(found) != node &&
        // Neighbours stand in order.
        !std::ranges::binary_search(known, vertex)) {
      break;
    }
    found = (found + 1) % names_.size();
  }
  return static_cast<std::int32_t>(found);
}

}  // namespace weft
