#include "weft/compiler/flat/flat_graph.h"
#include "weft/graph/text.h"

namespace weft {
namespace {

std::string to_string(Endpoint value) {
  if (value.output == 0) return fmt::format("n{}", value.node);
  return fmt::format("n{}.{}", value.node, value.output);
}

// "switch", "region 3", "call #2 @fib[0]", "send to rank 1 [4]".
std::string label(const FlatGraph& graph, const FlatNode& node) {
  switch (node.kind) {
    case FlatKind::kParameter: {
      // A parameter of another body stands where its calls meet; with one
      // caller it only passes on.
      const char* name = node.body == 0            ? "argument"
                         : node.inputs.size() == 1 ? "identity"
                                                   : "merge";
      return fmt::format("{} [{}]", name, node.index);
    }
    case FlatKind::kRegion:
      return fmt::format("region {}", node.region);
    case FlatKind::kSwitch:
      return "switch";
    case FlatKind::kMerge:
      return "merge";
    case FlatKind::kAccumulate:
      return fmt::format("accumulate [{}]", node.index);
    case FlatKind::kTotal:
      return fmt::format("total [{}]", node.index);
    case FlatKind::kSend:
    case FlatKind::kReceive: {
      const Crossing& crossing =
          graph.crossings[static_cast<std::size_t>(node.index)];
      const bool is_send = node.kind == FlatKind::kSend;
      return fmt::format("{} {} rank {} [{}]", is_send ? "send" : "receive",
                         is_send ? "to" : "from",
                         is_send ? crossing.to : crossing.from, node.index);
    }
    case FlatKind::kCall:
    case FlatKind::kReturn:
      break;
  }
  const CallSite& site = graph.sites[static_cast<std::size_t>(node.site)];
  return fmt::format("{} #{} @{}{}",
                     node.kind == FlatKind::kCall ? "call" : "return",
                     node.site, graph.body(site.callee).name,
                     node.index < 0 ? "" : fmt::format("[{}]", node.index));
}

// The ops of a region, a line each.
std::vector<std::string> ops_of(const FlatGraph& graph, const FlatNode& node) {
  std::vector<std::string> lines;
  if (node.kind != FlatKind::kRegion) return lines;
  const Function& function =
      graph.regions[static_cast<std::size_t>(node.region)].function;
  for (const Node& op : function.nodes()) {
    lines.push_back(weft::to_string(function, op));
  }
  return lines;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    // Labels of Graphviz stand in quotation marks.
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// How Graphviz shows a kind of node: what changes the tag, what chooses, what
// adds up, what crosses to another rank, what computes.
const char* dot_style(FlatKind kind) {
  switch (kind) {
    case FlatKind::kCall:
    case FlatKind::kReturn:
      return "style=filled, fillcolor=\"#cfe2f3\"";
    case FlatKind::kSwitch:
    case FlatKind::kMerge:
    case FlatKind::kParameter:
      return "style=\"filled,rounded\", fillcolor=\"#fff2cc\"";
    case FlatKind::kAccumulate:
    case FlatKind::kTotal:
      return "style=filled, fillcolor=\"#d9ead3\"";
    case FlatKind::kSend:
    case FlatKind::kReceive:
      return "shape=cds, style=filled, fillcolor=\"#ead1dc\"";
    case FlatKind::kRegion:
      break;
  }
  return "style=filled, fillcolor=white";
}

// The side of a switch that a value comes from.
std::string dot_edge(const FlatGraph& graph, Endpoint from, int to,
                     const char* style) {
  const bool is_chosen = graph.node(from.node).kind == FlatKind::kSwitch;
  const char* side = !is_chosen ? "" : from.output == 0 ? "yes" : "no";
  return fmt::format("  n{} -> n{} [label=\"{}\"{}];\n", from.node, to, side,
                     style);
}

}  // namespace

std::string to_string(const FlatGraph& graph, int id) {
  const FlatNode& node = graph.node(id);
  std::string inputs;
  for (const Endpoint input : node.inputs) {
    inputs += (inputs.empty() ? "" : ", ") + to_string(input);
  }
  if (node.trigger.node >= 0) {
    inputs +=
        (inputs.empty() ? "after " : ", after ") + to_string(node.trigger);
  }
  std::string types;
  for (const TensorType& type : node.types) {
    types += (types.empty() ? "" : ", ") + weft::to_string(type);
  }
  return fmt::format("n{} = {}({}) : {}", id, label(graph, node), inputs,
                     types);
}

std::string to_string(const FlatGraph& graph) {
  std::string text;
  for (std::size_t body = 0; body < graph.bodies.size(); ++body) {
    text += fmt::format("{}body @{} {{\n", body == 0 ? "" : "\n",
                        graph.bodies[body].name);
    for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
      if (graph.nodes[id].body != static_cast<int>(body)) continue;
      text += "  " + to_string(graph, static_cast<int>(id)) + "\n";
      for (const std::string& line : ops_of(graph, graph.nodes[id])) {
        text += "      " + line + "\n";
      }
    }
    text += "  return ";
    for (std::size_t i = 0; i < graph.bodies[body].results.size(); ++i) {
      text += (i == 0 ? "" : ", ") + to_string(graph.bodies[body].results[i]);
    }
    text += "\n}\n";
  }
  return text;
}

std::string to_dot(const FlatGraph& graph) {
  std::string text =
      "digraph flat {\n  node [shape=box, fontname=Helvetica];\n"
      "  edge [fontname=Helvetica, fontsize=11];\n"
      "  graph [fontname=Helvetica];\n";
  for (std::size_t body = 0; body < graph.bodies.size(); ++body) {
    text += fmt::format("  subgraph cluster_{} {{\n    label=\"@{}\";\n", body,
                        escaped(graph.bodies[body].name));
    for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
      const FlatNode& node = graph.nodes[id];
      if (node.body != static_cast<int>(body)) continue;
      std::string lines = escaped(label(graph, node));
      const auto ops = ops_of(graph, node);
      // Graphviz sets a line that ends with \l flush left, and others centred.
      for (const std::string& line : ops) lines += "\\l" + escaped(line);
      if (!ops.empty()) lines += "\\l";
      text += fmt::format("    n{} [label=\"{}\", {}];\n", id, lines,
                          dot_style(node.kind));
    }
    text += "  }\n";
  }
  // Edges come after all bodies: inside of a cluster, Graphviz would draw both
  // of their ends there.
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    for (const Endpoint input : graph.nodes[id].inputs) {
      text += dot_edge(graph, input, static_cast<int>(id), "");
    }
    // A trigger carries no value, so its line is dashed.
    if (graph.nodes[id].trigger.node >= 0) {
      text += dot_edge(graph, graph.nodes[id].trigger, static_cast<int>(id),
                       ", style=dashed");
    }
  }
  return text + "}\n";
}

}  // namespace weft
