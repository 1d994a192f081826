#include "weft/drawing/graph_drawing.h"

#include <algorithm>
#include <fmt/core.h>

#include "weft/base/markup.h"
#include "weft/drawing/layered.h"
#include "weft/graph/op.h"

namespace weft::drawing {
namespace {

// In pixels, as all lengths here.
constexpr double kLayerHeight = 52;
constexpr double kBoxHeight = 24;
constexpr double kLetterWidth = 6.6;  // of 11 pixels, at most
constexpr double kPadding = 16;       // of both sides of a box
constexpr double kGap = 12;
constexpr double kMargin = 12;
constexpr double kTitleHeight = 24;
constexpr double kLeastWidth = 240;  // that a title takes
constexpr std::size_t kMostLetters = 28;

// Fill and border. What is dark on white is seen by those who see no colours,
// and names say the rest.
struct Colours {
  const char* fill;
  const char* border;
};
constexpr Colours kArgument{"#f4f1e8", "#a8977a"};
constexpr Colours kResult{"#ffffff", "#444444"};
constexpr Colours kElementwiseNode{"#e3eefb", "#5b8fc9"};
constexpr Colours kViewNode{"#eeeeee", "#999999"};
constexpr Colours kControlNode{"#f1e6f7", "#9a6bb5"};
constexpr Colours kOutsideNode{"#fde9e4", "#c9705b"};
constexpr Colours kOtherNode{"#e4f3e6", "#5c9e68"};  // products, sums, moves

Colours colours_of(const OpDef& op) {
  if (op.has(kControl)) return kControlNode;
  if (op.has(kCollective) || op.has(kHost) || op.has(kRandom))
    return kOutsideNode;
  if (op.has(kView)) return kViewNode;
  return op.has(kElementwise) ? kElementwiseNode : kOtherNode;
}

struct Box {
  std::string name;
  std::string told;  // where one points at it
  Colours colours;
  bool is_round = false;
};

// The end of a name is what tells it from its neighbours.
std::string cut(const std::string& name) {
  if (name.size() <= kMostLetters) return name;
  std::size_t begin = name.size() - kMostLetters + 1;
  // Within a character no other begins.
  while ((static_cast<unsigned char>(name[begin]) & 0xC0) == 0x80) ++begin;
  return "…" + name.substr(begin);
}

std::string types_of(const Function& function,
                     const std::vector<ValueId>& values) {
  std::string text;
  for (const ValueId id : values) {
    if (!text.empty()) text += ", ";
    text += to_string(function.type(id));
  }
  return text;
}

// Parameters, nodes and results, in this order, and what leads where.
struct Boxes {
  explicit Boxes(const Function& function)
      : function_(function), made_by_(function.value_count()) {
    for (const ValueId id : function.parameters()) {
      const std::string& name = function.value(id).name;
      boxes.push_back({name.empty() ? fmt::format("%{}", id) : name,
                       to_string(function.type(id)), kArgument, true});
      made_by_[static_cast<std::size_t>(id)] = boxes.size() - 1;
    }
    for (const Node& node : function.nodes()) add(node);
    for (std::size_t i = 0; i < function.results().size(); ++i) {
      const ValueId id = function.results()[i];
      boxes.push_back({fmt::format("result {}", i),
                       to_string(function.type(id)), kResult, true});
      connect(id);
    }
  }

  std::vector<Box> boxes;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  std::vector<std::string> types;  // of what edges carry

 private:
  void add(const Node& node) {
    std::string told = fmt::format(
        "{}({}) -> {}\n{}", node.op->name(), types_of(function_, node.inputs),
        types_of(function_, node.outputs), to_string(node.attributes));
    if (node.location.is_known())
      told += "\nbuilt at: " + to_string(node.location);
    boxes.push_back({node.op->name(), std::move(told), colours_of(*node.op)});
    for (const ValueId id : node.inputs) connect(id);
    for (const ValueId id : node.outputs)
      made_by_[static_cast<std::size_t>(id)] = boxes.size() - 1;
  }

  // From whatever makes a value to the box that was added last.
  void connect(ValueId id) {
    edges.emplace_back(made_by_[static_cast<std::size_t>(id)],
                       boxes.size() - 1);
    types.push_back(to_string(function_.type(id)));
  }

  const Function& function_;
  std::vector<std::size_t> made_by_;  // the box that makes each value
};

// A curve that leaves and enters each layer upright.
std::string way_of(const std::vector<Point>& points) {
  std::string way =
      fmt::format("M{:.1f} {:.1f}", points[0].x, points[0].y + kBoxHeight / 2);
  double y = points[0].y + kBoxHeight / 2;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const bool is_last = i + 1 == points.size();
    const double end = points[i].y - (is_last ? kBoxHeight / 2 + 3 : 0);
    const double middle = (y + end) / 2;
    way += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}",
                       points[i - 1].x, middle, points[i].x, middle,
                       points[i].x, end);
    y = end;
  }
  return way;
}

std::string told(const std::string& text) {
  return fmt::format("<title>{}</title>", markup_text(text));
}

struct Drawn {
  std::string shapes;
  double width = kLeastWidth;
  double height = kTitleHeight;
};

Drawn draw(const Function& function) {
  Drawn drawn;
  drawn.shapes = fmt::format(
      "<text y=\"14\" font-weight=\"bold\">@{}</text>\n"
      "<g transform=\"translate(0 {})\">\n",
      markup_text(function.name()), kTitleHeight);
  if (function.nodes().size() > kMostNodes) {
    drawn.shapes += fmt::format(
        "<text y=\"14\">{} nodes, too many to be drawn</text></g>\n",
        function.nodes().size());
    drawn.height += kTitleHeight;
    return drawn;
  }
  const Boxes all(function);
  std::vector<double> widths;
  for (const Box& box : all.boxes) {
    widths.push_back(kPadding +
                     kLetterWidth * static_cast<double>(cut(box.name).size()));
  }
  const Layout layout = layered(widths, all.edges, kLayerHeight, kGap);
  for (std::size_t i = 0; i < all.edges.size(); ++i) {
    drawn.shapes += fmt::format("<path d=\"{}\">{}</path>\n",
                                way_of(layout.edges[i]), told(all.types[i]));
  }
  for (std::size_t i = 0; i < all.boxes.size(); ++i) {
    const Box& box = all.boxes[i];
    const Point at = layout.nodes[i];
    drawn.shapes += fmt::format(
        "<g>{}<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" "
        "rx=\"{}\" fill=\"{}\" stroke=\"{}\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"middle\">{}</text></g>\n",
        told(box.told), at.x - widths[i] / 2, at.y - kBoxHeight / 2, widths[i],
        kBoxHeight, box.is_round ? kBoxHeight / 2 : 3, box.colours.fill,
        box.colours.border, at.x, at.y + 4, markup_text(cut(box.name)));
  }
  drawn.shapes += "</g>\n";
  drawn.width = std::max(drawn.width, layout.width);
  drawn.height += layout.height;
  return drawn;
}

}  // namespace

std::string graph_svg(const Graph& graph) {
  std::string shapes;
  double width = 0;
  double height = kMargin;
  for (const Function& function : graph.functions) {
    const Drawn drawn = draw(function);
    shapes += fmt::format("<g transform=\"translate({} {:.1f})\">\n{}</g>\n",
                          kMargin, height, drawn.shapes);
    width = std::max(width, drawn.width);
    height += drawn.height + kMargin;
  }
  width += 2 * kMargin;
  // Styles within a page are the page's: these are for this picture alone.
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"weft-graph\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<defs><marker id=\"weft-tip\" viewBox=\"0 0 6 6\" refX=\"3\" refY=\"3\" "
      "markerWidth=\"5\" markerHeight=\"5\" orient=\"auto\">"
      "<polygon points=\"0,0 6,3 0,6\" fill=\"#888\"/></marker>"
      "<style>.weft-graph path{{fill:none;stroke:#999;"
      "marker-end:url(#weft-tip)}} .weft-graph path:hover{{stroke:#000;"
      "stroke-width:2}}</style></defs>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
      width, height, shapes);
}

}  // namespace weft::drawing
