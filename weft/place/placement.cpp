#include "weft/place/placement.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace weft {
namespace {

using Ranks = std::map<std::string, int, std::less<>>;

// The bound catches a number that was mistyped before memory is taken for it.
constexpr int kMostRanks = 4096;
constexpr std::string_view kLayer = "layer:";

// `name`, and what is made from it or lies inside it: "f", "f.then", "a/b".
template <class Visit>
void for_each_prefix(std::string_view name, char separator, Visit&& visit) {
  for (std::size_t end = name.size(); end != std::string_view::npos && end > 0;
       end = name.rfind(separator, end - 1)) {
    if (visit(name.substr(0, end))) return;
  }
}

// The longest that is listed.
std::optional<int> find(const Ranks& ranks, std::string_view name,
                        char separator) {
  std::optional<int> rank;
  if (ranks.empty()) return rank;
  for_each_prefix(name, separator, [&](std::string_view prefix) {
    const auto found = ranks.find(prefix);
    if (found != ranks.end()) rank = found->second;
    return rank.has_value();
  });
  return rank;
}

int at_or_first(const std::vector<int>& ranks, std::size_t index) {
  return index < ranks.size() ? ranks[index] : 0;
}

void check_rank(int rank, int ranks, const std::string& of, bool may_be_all) {
  if (rank < ranks && (rank >= 0 || may_be_all)) return;
  throw Error(ErrorCode::kInvalidArgument, "placement",
              "{} is placed on rank {}; there are ranks 0 to {}", of, rank,
              ranks - 1);
}

// What names can stand for.
struct Names {
  std::set<std::string, std::less<>> functions;
  std::set<std::string, std::less<>> layers;

  explicit Names(const Graph& graph) {
    for (const Function& function : graph.functions) {
      add(functions, function.name(), '.');
      for (const Node& node : function.nodes()) {
        add(layers, node.location.scope, '/');
      }
    }
  }

 private:
  static void add(std::set<std::string, std::less<>>& names,
                  std::string_view name, char separator) {
    for_each_prefix(name, separator, [&](std::string_view prefix) {
      // Where a prefix is known, the shorter ones are too.
      return !names.emplace(prefix).second;
    });
  }
};

void check_names(const Ranks& ranks,
                 const std::set<std::string, std::less<>>& known,
                 const std::string& kind, int count) {
  for (const auto& [name, rank] : ranks) {
    check_rank(rank, count, fmt::format("{} {}", kind, name), false);
    if (known.contains(name)) continue;
    Error error(ErrorCode::kInvalidArgument, "placement",
                "the graph has no {} {}", kind, name);
    // A name that nothing answers to would leave its ops to their operands
    // without a word.
    const std::string near = nearest(name, {known.begin(), known.end()});
    if (!near.empty()) error.hint("did you mean " + near + "?");
    throw error;
  }
}

int parse_rank(std::string_view text, std::string_view item) {
  int rank = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || rank < 0) {
    throw Error(ErrorCode::kInvalidArgument, "placement",
                "'{}' names no rank after '='", item)
        .hint("write NAME=RANK, layer:PATH=RANK or *=RANK");
  }
  return rank;
}

}  // namespace

int RankPlacement::rank_of(std::string_view function,
                           const Location& location) const {
  // A layer is nearer to the op than the function that it stands in.
  if (const auto rank = find(layers, location.scope, '/')) return *rank;
  return find(functions, function, '.').value_or(others);
}

int RankPlacement::rank_of_argument(std::size_t index) const {
  return at_or_first(arguments, index);
}

int RankPlacement::rank_of_result(std::size_t index) const {
  return at_or_first(results, index);
}

void check(const RankPlacement& placement, const Graph& graph) {
  if (placement.ranks < 1 || placement.ranks > kMostRanks) {
    throw Error(ErrorCode::kInvalidArgument, "placement",
                "{} ranks; there can be 1 to {}", placement.ranks, kMostRanks);
  }
  // Collecting the names walks the whole graph, which a placement without names
  // need not pay.
  if (!placement.functions.empty() || !placement.layers.empty()) {
    const Names names(graph);
    check_names(placement.functions, names.functions, "function",
                placement.ranks);
    check_names(placement.layers, names.layers, "layer", placement.ranks);
  }
  check_rank(placement.others, placement.ranks, "all else", true);
  for (std::size_t i = 0; i < placement.arguments.size(); ++i) {
    check_rank(placement.arguments[i], placement.ranks,
               fmt::format("argument {}", i), true);
  }
  for (std::size_t i = 0; i < placement.results.size(); ++i) {
    check_rank(placement.results[i], placement.ranks,
               fmt::format("result {}", i), true);
  }
}

RankPlacement parse_placement(std::string_view text, int ranks) {
  RankPlacement placement{.ranks = ranks};
  constexpr std::string_view kBlank = " \t\n,";
  for (std::size_t begin = text.find_first_not_of(kBlank);
       begin != std::string_view::npos;
       begin = text.find_first_not_of(kBlank, begin)) {
    const std::size_t end =
        std::min(text.find_first_of(kBlank, begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end;
    // The last one separates, as names may hold others.
    const std::size_t equals = std::min(item.rfind('='), item.size());
    const std::string_view name = item.substr(0, equals);
    const int rank =
        parse_rank(item.substr(std::min(equals + 1, item.size())), item);
    if (name == "*") {
      placement.others = rank;
    } else if (name.starts_with(kLayer)) {
      placement.layers[std::string(name.substr(kLayer.size()))] = rank;
    } else {
      placement.functions[std::string(name)] = rank;
    }
    check_rank(rank, ranks, std::string(name), false);
  }
  return placement;
}

}  // namespace weft
