// Where the nodes of a graph without cycles stand in a drawing of it: in
// layers, each node below those that it comes from.
//
// Threads: a pure function.
// Cost:    a few passes over nodes and edges; of an edge each layer that it
//          crosses counts.
// Source:  Sugiyama, Tagawa and Toda, "Methods for visual understanding of
//          hierarchical system structures", 1981: layers, an order in each by
//          barycentres, then positions.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace weft::drawing {

struct Point {
  double x = 0;
  double y = 0;
};

struct Layout {
  std::vector<Point> nodes;  // centres
  // For each edge where it passes through each layer, its ends among these.
  std::vector<std::vector<Point>> edges;
  double width = 0;
  double height = 0;
};

// `widths` of the nodes, in the units of the result; edges lead from a node to
// one with a larger index. Layers are `layer_height` apart, and what stands in
// one `gap` at least.
Layout layered(const std::vector<double>& widths,
               const std::vector<std::pair<std::size_t, std::size_t>>& edges,
               double layer_height, double gap);

}  // namespace weft::drawing
