#include "bench/concurrent/sample_graph.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/gzip.h"

namespace weft::bench {
namespace {

using concurrent::Edge;
using concurrent::Vertex;

constexpr std::size_t kMostBytes = std::size_t{1} << 31U;
constexpr Vertex kMostVertices = 1U << 28U;

Edge parse(std::string_view line, std::string_view where, std::size_t number) {
  Edge edge{};
  const char* at = line.data();
  const char* const end = at + line.size();
  for (Vertex* vertex : {&edge.a, &edge.b}) {
    while (at != end && (*at == ' ' || *at == '\t')) ++at;
    const auto [after, problem] = std::from_chars(at, end, *vertex);
    if (problem != std::errc() || *vertex >= kMostVertices)
      throw Error(ErrorCode::kDataLoss, fmt::format("{}:{}", where, number),
                  "no edge: '{}'", line.substr(0, 80));
    at = after;
  }
  return edge;
}

SampleGraph read_edges(const std::string& path) {
  const UnpackedFile file(path, kMostBytes);
  const std::string_view text(
      reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  SampleGraph graph;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const auto [a, b] = parse(line, path, number);
    graph.vertices = std::max({graph.vertices, a + 1, b + 1});
    graph.edges.push_back({std::min(a, b), std::max(a, b)});
  }
  const auto key = [](const Edge& edge) {
    return std::uint64_t{edge.a} << 32U | edge.b;
  };
  std::sort(graph.edges.begin(), graph.edges.end(),
            [&](const Edge& x, const Edge& y) { return key(x) < key(y); });
  graph.edges.erase(std::unique(graph.edges.begin(), graph.edges.end(),
                                [&](const Edge& x, const Edge& y) {
                                  return key(x) == key(y);
                                }),
                    graph.edges.end());
  return graph;
}

}  // namespace

SampleGraph sample_graph(const WorkerOptions& options, std::uint64_t seed) {
  if (options.values.contains("edge-list"))
    return read_edges(options.text("edge-list"));
  const auto vertices = static_cast<Vertex>(options.integer("vertices"));
  const auto edges = static_cast<std::size_t>(options.integer("edges"));
  return {vertices, concurrent::random_edges(vertices, edges, seed)};
}

}  // namespace weft::bench
