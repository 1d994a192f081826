#include "weft/concurrent/iterative/edge_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/libraries/gzip.h"

namespace weft::concurrent {
namespace {

// At four bytes a line or more, edges and vertices can be counted in 32 bits.
constexpr std::size_t kMostBytes = std::size_t{1} << 32U;
// No name is Solution::kNobody, which stands among names for nobody.
constexpr std::uint64_t kLargestName = (std::uint64_t{1} << 63U) - 1;
// A line may be as long as the file, and an error should still be readable.
constexpr std::size_t kMostQuoted = 60;

const char* skip_blanks(const char* at, const char* end) {
  while (at != end && (*at == ' ' || *at == '\t')) ++at;
  return at;
}

// Whether `line` is these numbers and nothing else.
template <std::size_t kColumns>
bool parse_line(std::string_view line,
                std::array<std::uint64_t, kColumns>& numbers) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::uint64_t& number : numbers) {
    const char* const begin = skip_blanks(at, end);
    // from_chars stops at what is no digit, which must then be a blank.
    if (&number != numbers.data() && begin == at) return false;
    // It takes neither a sign nor a blank, and reports what passes 64 bits.
    const auto [after, problem] = std::from_chars(begin, end, number);
    if (problem != std::errc() || number > kLargestName) return false;
    at = after;
  }
  return skip_blanks(at, end) == end;
}

template <std::size_t kColumns, class Visit>
void for_each_line(std::string_view text, const std::string& where,
                   const char* expected, Visit&& visit) {
  std::array<std::uint64_t, kColumns> numbers{};
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    // Some files come with the line ends of another system.
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (!parse_line(line, numbers))
      throw Error(ErrorCode::kDataLoss,
                  fmt::format("{}:{}", where, line_number), "no {}: '{}'",
                  expected, line.substr(0, kMostQuoted))
          .hint(fmt::format("a line is {} below 2^63; '#' begins a comment",
                            kColumns == 1 ? "one number" : "two numbers"));
    visit(numbers);
  }
}

std::string_view text_of(const UnpackedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()),
          file.bytes().size()};
}

Vertex index_of(const std::vector<std::uint64_t>& names, std::uint64_t name) {
  // `name` is an end of an edge, and all ends are among the names: what is
  // found is the name itself.
  const auto found = std::lower_bound(names.begin(), names.end(), name);
  return static_cast<Vertex>(found - names.begin());
}

}  // namespace

NamedEdges parse_edge_list(std::string_view text, const std::string& where) {
  std::vector<std::uint64_t> ends;  // two for each edge
  for_each_line<2>(text, where, "edge", [&](const auto& numbers) {
    ends.insert(ends.end(), numbers.begin(), numbers.end());
  });
  if (ends.empty())
    throw Error(ErrorCode::kDataLoss, where, "there is no edge in it");
  NamedEdges graph{ends, {}};
  // Vertices are numbered in the order of their names, so lines that come in
  // another order number them alike.
  std::sort(graph.names.begin(), graph.names.end());
  graph.names.erase(std::unique(graph.names.begin(), graph.names.end()),
                    graph.names.end());
  graph.edges.reserve(ends.size() / 2);
  for (std::size_t i = 0; i < ends.size(); i += 2)
    graph.edges.push_back(
        {index_of(graph.names, ends[i]), index_of(graph.names, ends[i + 1])});
  return graph;
}

NamedEdges read_edge_list(const std::filesystem::path& path) {
  const UnpackedFile file(path, kMostBytes);
  return parse_edge_list(text_of(file), path.string());
}

std::vector<Edge> simple_edges(std::span<const Edge> edges) {
  std::vector<Edge> simple;
  simple.reserve(edges.size());
  for (const auto& [a, b] : edges)
    if (a != b) simple.push_back({std::min(a, b), std::max(a, b)});
  const auto key = [](const Edge& edge) { return std::pair(edge.a, edge.b); };
  std::sort(simple.begin(), simple.end(),
            [&](const Edge& x, const Edge& y) { return key(x) < key(y); });
  simple.erase(std::unique(simple.begin(), simple.end(),
                           [&](const Edge& x, const Edge& y) {
                             return key(x) == key(y);
                           }),
               simple.end());
  return simple;
}

std::vector<std::uint64_t> parse_vertex_list(std::string_view text,
                                             const std::string& where) {
  std::vector<std::uint64_t> names;
  for_each_line<1>(text, where, "vertex",
                   [&](const auto& numbers) { names.push_back(numbers[0]); });
  return names;
}

std::vector<std::uint64_t> read_vertex_list(const std::filesystem::path& path) {
  const UnpackedFile file(path, kMostBytes);
  return parse_vertex_list(text_of(file), path.string());
}

}  // namespace weft::concurrent
