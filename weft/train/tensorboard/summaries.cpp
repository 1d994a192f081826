#include "weft/train/tensorboard/summaries.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "weft/graph/text.h"

namespace weft {
namespace {

// Fields of Summary.Value, and of what it may hold.
constexpr int kValue = 1;
constexpr int kTag = 1;
constexpr int kSimpleValue = 2;
constexpr int kImage = 4;
constexpr int kHistogram = 5;
constexpr int kMetadata = 9;

void add_value(WireWriter& summary, const std::string& tag,
               const WireWriter& content) {
  WireWriter value;
  value.bytes(kTag, tag);
  value.append(content);
  summary.message(kValue, value);
}

// The upper ends of buckets: each a tenth above the one before, on both sides
// of zero, as TensorFlow has them.
const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) {
      positive.push_back(limit);
    }
    std::vector<double> all;
    for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) {
      all.push_back(-*limit);
    }
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    all.push_back(1.7976931348623157e308);
    return all;
  }();
  return limits;
}

// A field of doubles, packed.
void packed_doubles(WireWriter& message, int field,
                    const std::vector<double>& values) {
  message.bytes(field, {reinterpret_cast<const char*>(values.data()),
                        values.size() * sizeof(double)});
}

// SummaryMetadata of the hparams plugin with `content`, an HParamsPluginData.
WireWriter plugin_metadata(const WireWriter& content) {
  WireWriter plugin;
  plugin.bytes(1, "hparams");
  plugin.message(2, content);
  WireWriter metadata;
  metadata.message(1, plugin);
  WireWriter value;
  value.message(kMetadata, metadata);
  return value;
}

// google.protobuf.Value: a number where the text is one.
WireWriter plain_value(const std::string& text) {
  WireWriter value;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (!text.empty() && end == text.c_str() + text.size()) {
    value.real64(2, number);
  } else if (text == "true" || text == "false") {
    value.integer(4, text == "true" ? 1 : 0);
  } else {
    value.bytes(3, text);
  }
  return value;
}

WireWriter shape_message(const Shape& shape) {
  WireWriter message;
  for (const Dim dim : shape.dims()) {
    WireWriter one;
    one.integer(1, is_symbolic(dim) ? -1 : dim);
    message.message(2, one);
  }
  return message;
}

// Attributes of a NodeDef are a map, each entry of which is a message.
void add_attribute(WireWriter& node, std::string_view name,
                   const WireWriter& value) {
  WireWriter entry;
  entry.bytes(1, name);
  entry.message(2, value);
  node.message(5, entry);
}

// The names of values in a GraphDef: "conv1.weight" of a parameter, "conv2d_3"
// of what a node computes, with ":1" behind for further results.
class Names {
 public:
  explicit Names(const Function& function) : function_(function) {
    for (const ValueId id : function.parameters()) {
      parameters_.push_back(unique(function.value(id).name.empty()
                                       ? "argument"
                                       : function.value(id).name));
    }
    for (const Node& node : function.nodes()) {
      nodes_.push_back(unique(node.op->name()));
    }
  }

  const std::string& parameter(std::size_t i) const { return parameters_[i]; }
  const std::string& node(std::size_t i) const { return nodes_[i]; }

  std::string of(ValueId id) const {
    if (function_.is_parameter(id)) {
      const auto& ids = function_.parameters();
      const auto found = std::ranges::find(ids, id) - ids.begin();
      return parameters_[static_cast<std::size_t>(found)];
    }
    const auto node = static_cast<std::size_t>(function_.value(id).node);
    const auto& outputs = function_.node(function_.value(id).node).outputs;
    const auto output = std::ranges::find(outputs, id) - outputs.begin();
    return output == 0 ? nodes_[node]
                       : fmt::format("{}:{}", nodes_[node], output);
  }

 private:
  std::string unique(std::string name) {
    // TensorBoard draws what stands before a slash as a box around the rest.
    std::ranges::replace(name, '.', '/');
    std::string candidate = name;
    for (int number = 1; !taken_.insert(candidate).second; ++number) {
      candidate = fmt::format("{}_{}", name, number);
    }
    return candidate;
  }

  const Function& function_;
  std::set<std::string> taken_;
  std::vector<std::string> parameters_;
  std::vector<std::string> nodes_;
};

}  // namespace

void add_scalar(WireWriter& summary, const std::string& tag, double value) {
  WireWriter content;
  content.real(kSimpleValue, static_cast<float>(value));
  add_value(summary, tag, content);
}

void add_histogram(WireWriter& summary, const std::string& tag,
                   const Tensor& values) {
  const std::vector<double>& limits = bucket_limits();
  std::vector<double> counts(limits.size());
  double least = 0;
  double most = 0;
  double sum = 0;
  double squares = 0;
  std::int64_t number = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double value = values.item(i);
    if (!std::isfinite(value)) continue;
    least = number == 0 ? value : std::min(least, value);
    most = number == 0 ? value : std::max(most, value);
    sum += value;
    squares += value * value;
    ++number;
    const auto bucket = std::ranges::upper_bound(limits, value);
    counts[static_cast<std::size_t>(
        std::min(bucket - limits.begin(), std::ssize(limits) - 1))] += 1;
  }
  if (number < values.size()) {
    add_scalar(summary, tag + "/not finite",
               static_cast<double>(values.size() - number));
  }
  if (number == 0) return;
  // Empty buckets at both ends would be most of the message.
  const auto is_full = [](double count) { return count > 0; };
  const auto first = std::ranges::find_if(counts, is_full) - counts.begin();
  const auto last =
      counts.rend() - std::find_if(counts.rbegin(), counts.rend(), is_full);
  WireWriter histogram;
  histogram.real64(1, least);
  histogram.real64(2, most);
  histogram.real64(3, static_cast<double>(number));
  histogram.real64(4, sum);
  histogram.real64(5, squares);
  packed_doubles(histogram, 6, {limits.begin() + first, limits.begin() + last});
  packed_doubles(histogram, 7, {counts.begin() + first, counts.begin() + last});
  WireWriter content;
  content.message(kHistogram, histogram);
  add_value(summary, tag, content);
}

void add_image(WireWriter& summary, const std::string& tag,
               const Image& image) {
  WireWriter message;
  message.integer(1, image.height);
  message.integer(2, image.width);
  message.integer(3, image.channels);
  message.bytes(4, encode_png(image));
  WireWriter content;
  content.message(kImage, message);
  add_value(summary, tag, content);
}

void add_hyperparameters(WireWriter& summary,
                         const std::map<std::string, std::string>& values,
                         std::string_view run) {
  WireWriter start;
  for (const auto& [name, text] : values) {
    WireWriter entry;
    entry.bytes(1, name);
    entry.message(2, plain_value(text));
    start.message(1, entry);
  }
  start.bytes(4, run);
  WireWriter content;
  content.message(3, start);
  add_value(summary, "_hparams_/session_start_info", plugin_metadata(content));
}

void add_end_of_run(WireWriter& summary) {
  constexpr int kSuccess = 1;
  WireWriter end;
  end.integer(1, kSuccess);
  WireWriter content;
  content.message(4, end);
  add_value(summary, "_hparams_/session_end_info", plugin_metadata(content));
}

std::string graph_def(const Function& function) {
  const Names names(function);
  WireWriter graph;
  const auto add_node = [&](const std::string& name, std::string_view op,
                            const std::vector<std::string>& inputs,
                            const std::vector<TensorType>& types) {
    WireWriter node;
    node.bytes(1, name);
    node.bytes(2, op);
    for (const std::string& input : inputs) node.bytes(3, input);
    WireWriter shapes;  // an AttrValue of a list of shapes
    for (const TensorType& type : types) {
      shapes.message(7, shape_message(type.shape));
    }
    WireWriter list;
    list.message(1, shapes);
    add_attribute(node, "_output_shapes", list);
    graph.message(1, node);
  };
  for (std::size_t i = 0; i < function.parameters().size(); ++i) {
    add_node(names.parameter(i), "parameter", {},
             {function.type(function.parameters()[i])});
  }
  for (std::size_t i = 0; i < function.nodes().size(); ++i) {
    const Node& node = function.nodes()[i];
    std::vector<std::string> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(names.of(id));
    std::vector<TensorType> types;
    for (const ValueId id : node.outputs) types.push_back(function.type(id));
    add_node(names.node(i), node.op->name(), inputs, types);
  }
  return graph.written();
}

}  // namespace weft
