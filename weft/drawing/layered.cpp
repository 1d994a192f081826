#include "weft/drawing/layered.h"

#include <algorithm>

namespace weft::drawing {
namespace {

// More sweeps hardly change anything.
constexpr int kOrderSweeps = 12;
constexpr int kPlaceSweeps = 8;
// What of the width of a gap an edge takes that only passes through.
constexpr double kPassingWidth = 4;
// How little what nothing leads to, as a weight, moves what it leads to: the
// way through a network stays straight.
constexpr double kSourceWeight = 0.1;

// A node, or where an edge passes through a layer.
struct Place {
  double width = 0;
  std::size_t layer = 0;
  std::vector<std::size_t> above = {};  // neighbours, by index among places
  std::vector<std::size_t> below = {};
  double x = 0;

  double weight() const { return above.empty() ? kSourceWeight : 1; }
};

using Edges = std::vector<std::pair<std::size_t, std::size_t>>;

// The longest way that leads to a node; what nothing leads to, as weights,
// stands right above the first that takes it.
std::vector<std::size_t> layers_of(std::size_t nodes, const Edges& edges) {
  std::vector<std::size_t> layers(nodes, 0);
  std::vector<bool> has_source(nodes, false);
  Edges in_order = edges;
  std::ranges::sort(in_order);
  for (const auto& [from, to] : in_order) {
    layers[to] = std::max(layers[to], layers[from] + 1);
    has_source[to] = true;
  }
  std::vector<std::size_t> first_use(nodes, layers.size());
  for (const auto& [from, to] : edges) {
    first_use[from] = std::min(first_use[from], layers[to]);
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    if (!has_source[i] && first_use[i] < layers.size())
      layers[i] = first_use[i] - 1;
  }
  return layers;
}

class Layers {
 public:
  Layers(const std::vector<double>& widths, const Edges& edges, double gap)
      : gap_(gap) {
    const std::vector<std::size_t> layers = layers_of(widths.size(), edges);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      places_.push_back({.width = widths[i], .layer = layers[i]});
    }
    for (const auto& [from, to] : edges) connect(from, to);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::size_t layer = places_[i].layer;
      if (rows_.size() <= layer) rows_.resize(layer + 1);
      rows_[layer].push_back(i);
    }
  }

  void arrange() {
    for (auto& row : rows_) spread(row);
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
      for_rows(sweep % 2 == 0, [&](std::vector<std::size_t>& row, bool down) {
        std::ranges::stable_sort(
            row, {}, [&](std::size_t i) { return wanted(places_[i], down); });
        spread(row);
      });
    }
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      for_rows(sweep % 2 == 0, [&](std::vector<std::size_t>& row, bool down) {
        settle(row, down);
      });
    }
  }

  Layout layout(std::size_t nodes, double layer_height) const {
    double least = 0;
    double most = 0;
    for (const Place& place : places_) {
      least = std::min(least, place.x - place.width / 2);
      most = std::max(most, place.x + place.width / 2);
    }
    const auto point = [&](std::size_t i) {
      const Place& place = places_[i];
      return Point{place.x - least,
                   (static_cast<double>(place.layer) + 0.5) * layer_height};
    };
    Layout layout;
    layout.width = most - least;
    layout.height = static_cast<double>(rows_.size()) * layer_height;
    for (std::size_t i = 0; i < nodes; ++i) layout.nodes.push_back(point(i));
    for (const auto& way : ways_) {
      layout.edges.emplace_back();
      for (const std::size_t i : way) layout.edges.back().push_back(point(i));
    }
    return layout;
  }

 private:
  void connect(std::size_t from, std::size_t to) {
    std::vector<std::size_t> way{from};
    for (std::size_t layer = places_[from].layer + 1; layer < places_[to].layer;
         ++layer) {
      way.push_back(places_.size());
      places_.push_back({.width = kPassingWidth, .layer = layer});
    }
    way.push_back(to);
    for (std::size_t i = 1; i < way.size(); ++i) {
      places_[way[i - 1]].below.push_back(way[i]);
      places_[way[i]].above.push_back(way[i - 1]);
    }
    ways_.push_back(std::move(way));
  }

  template <class Body>
  void for_rows(bool down, Body&& body) {
    if (down) {
      for (auto& row : rows_) body(row, true);
    } else {
      for (auto row = rows_.rbegin(); row != rows_.rend(); ++row)
        body(*row, false);
    }
  }

  double distance(std::size_t left, std::size_t right) const {
    return (places_[left].width + places_[right].width) / 2 + gap_;
  }

  // Side by side, around 0.
  void spread(const std::vector<std::size_t>& row) {
    double x = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (k > 0) x += distance(row[k - 1], row[k]);
      places_[row[k]].x = x;
    }
    for (const std::size_t i : row) places_[i].x -= x / 2;
  }

  // The weighted mean of a place's neighbours on one side, or where it is
  // without any.
  double wanted(const Place& place, bool down) const {
    const auto& neighbours = down ? place.above : place.below;
    if (neighbours.empty()) return place.x;
    double sum = 0;
    double weights = 0;
    for (const std::size_t i : neighbours) {
      sum += places_[i].weight() * places_[i].x;
      weights += places_[i].weight();
    }
    return sum / weights;
  }

  // As near to where each wants to be as distances allow, by least squares:
  // what would be too near to each other moves as one block.
  void settle(const std::vector<std::size_t>& row, bool down) {
    struct Block {
      double sum;  // of what its members want, less their own offsets
      double weights;
      std::size_t count;
      double mean() const { return sum / weights; }
    };
    std::vector<Block> blocks;
    std::vector<double> offsets;
    for (std::size_t k = 0; k < row.size(); ++k) {
      offsets.push_back(k == 0 ? 0
                               : offsets.back() + distance(row[k - 1], row[k]));
      const Place& place = places_[row[k]];
      blocks.push_back({place.weight() * (wanted(place, down) - offsets[k]),
                        place.weight(), 1});
      while (blocks.size() > 1 &&
             blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
        const Block last = blocks.back();
        blocks.pop_back();
        blocks.back().sum += last.sum;
        blocks.back().weights += last.weights;
        blocks.back().count += last.count;
      }
    }
    std::size_t k = 0;
    for (const Block& block : blocks) {
      for (std::size_t left = block.count; left > 0; --left, ++k) {
        places_[row[k]].x = block.mean() + offsets[k];
      }
    }
  }

  double gap_;
  std::vector<Place> places_;  // the nodes first
  std::vector<std::vector<std::size_t>> rows_;
  std::vector<std::vector<std::size_t>> ways_;  // of each edge
};

}  // namespace

Layout layered(const std::vector<double>& widths, const Edges& edges,
               double layer_height, double gap) {
  Layers layers(widths, edges, gap);
  layers.arrange();
  return layers.layout(widths.size(), layer_height);
}

}  // namespace weft::drawing
