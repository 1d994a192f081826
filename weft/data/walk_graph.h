// A graph to walk on: without some edges, which are held out, and with nodes
// drawn about as often as walks meet them.
//
// Threads: immutable; share freely.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/concurrent/iterative/edge_list.h"
#include "weft/concurrent/iterative/graph.h"

namespace weft {

class WalkGraph {
 public:
  // Holds out `share` of the edges, the same ones whenever the graph is read,
  // but none that is the last one of a node: walks go on for ever. Throws
  // Error(kInvalidArgument) with `where` for a graph of fewer than two edges.
  WalkGraph(const concurrent::NamedEdges& edges, double share,
            std::string_view where);

  std::int64_t nodes() const { return all_.vertices(); }
  // What the edge list calls each node, by its number.
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<concurrent::Edge>& held_out() const { return held_out_; }

  // A neighbour by an edge that is not held out; `word` is random.
  std::int32_t neighbour(std::int32_t node, std::uint32_t word) const;
  // A node, by its degree to the power of 0.75 (Mikolov et al., "Distributed
  // representations of words and phrases", 2013, section 2.2).
  std::int32_t frequent_node(std::uint32_t place, std::uint32_t word) const;
  // A node that no edge, held out or not, joins to `node`, if there is one;
  // each about as likely.
  std::int32_t stranger(std::int32_t node, std::uint32_t word) const;

 private:
  void hold_out(const std::vector<concurrent::Edge>& edges, double share);
  void weigh_nodes();

  std::vector<std::string> names_;
  concurrent::Graph all_;
  concurrent::Graph walked_;
  std::vector<concurrent::Edge> held_out_;
  // Walker's alias method (Vose, 1991): node i stands for itself with
  // probability keeps_[i], else for alias_[i].
  std::vector<float> keeps_;
  std::vector<std::int32_t> alias_;
};

}  // namespace weft
