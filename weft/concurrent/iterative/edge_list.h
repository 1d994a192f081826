// Graphs as the collections of SNAP write them: a line "u v" for each edge,
// blanks or tabs between, '#' before comments; plain, or packed by gzip.
//
// Vertices are named by any numbers below 2^63. Here they are counted from 0 in
// the order of their names, so that what is allocated depends on the size of
// the file and not on what it claims.
//
// Errors: Error(kDataLoss) with the line that is no edge or vertex, or for an
//         edge list without any; read_…() also Error(kUnavailable) for a file
//         that cannot be read, and Error(kExhausted) past 4 GiB unpacked.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/concurrent/iterative/graph.h"

namespace weft::concurrent {

struct NamedEdges {
  std::vector<std::uint64_t> names;  // [vertex], ascending
  std::vector<Edge> edges;           // one for each line, in the file's order

  Vertex vertices() const { return static_cast<Vertex>(names.size()); }
};

// O(lines log lines). `where` names the text in errors.
NamedEdges parse_edge_list(std::string_view text, const std::string& where);
NamedEdges read_edge_list(const std::filesystem::path& path);

// The edges of an undirected graph: without those from a vertex to itself, and
// those that come several times, in either direction, once. Each has its
// smaller end first, and they are sorted.
std::vector<Edge> simple_edges(std::span<const Edge> edges);

// A line for each vertex: its name.
std::vector<std::uint64_t> parse_vertex_list(std::string_view text,
                                             const std::string& where);
std::vector<std::uint64_t> read_vertex_list(const std::filesystem::path& path);

}  // namespace weft::concurrent
