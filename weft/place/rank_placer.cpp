#include "weft/place/rank_placer.h"

#include <algorithm>
#include <map>

#include "weft/base/index.h"
#include "weft/compiler/flat/draft.h"
#include "weft/compiler/flat/flow.h"
#include "weft/compiler/flat/lowering.h"

namespace weft {
namespace {

class OtherOps {
 public:
  OtherOps(Draft& draft, const RankPlacement& placement)
      : draft_(draft), placement_(placement), flow_(draft.graph) {
    for (int id = 0; id < static_cast<int>(draft.graph.nodes.size()); ++id) {
      if (is_op(id) && rank(id) < 0) open_.push_back({id, operands_of(id)});
    }
  }

  // First what has all its operands placed; then, one by one, what has some,
  // as a sum that a recursion adds to; then what reads nothing.
  void run() {
    // Each round that places something may let others know more.
    while (place_some(true) || place_some(false)) {
    }
    // Readers that have no place either do not count; what then remains goes to
    // rank 0.
    for (const Open& op : open_) rank(op.id) = most_read_on(op.id);
    for (const Open& op : open_) rank(op.id) = std::max(0, rank(op.id));
  }

 private:
  // An op, and the bytes that it reads of each source.
  struct Open {
    int id;
    std::map<int, std::size_t> operands;
  };

  bool is_op(int id) const {
    return draft_.graph.node(id).kind == FlatKind::kRegion;
  }
  int& rank(int id) { return draft_.ranks[at(draft_.graph.node(id).region)]; }

  std::map<int, std::size_t> operands_of(int id) const {
    std::map<int, std::size_t> operands;
    for (const Endpoint input : draft_.graph.node(id).inputs) {
      for (const int source : flow_.sources_of(input)) {
        // What is computed from nothing is computed where it is read.
        if (is_op(source) && draft_.graph.node(source).inputs.empty()) continue;
        operands[source] += draft_.graph.type(input).bytes();
      }
    }
    return operands;
  }

  // -1 where it is not known, or everywhere.
  int rank_of_source(int id) {
    if (is_op(id)) return rank(id);
    return placement_.rank_of_argument(at(draft_.graph.node(id).index));
  }

  bool place_some(bool must_know_all) {
    const std::size_t before = open_.size();
    for (std::size_t i = 0; i < open_.size();) {
      const int chosen = most_made_on(open_[i].operands, must_know_all);
      if (chosen < 0) {
        ++i;
        continue;
      }
      rank(open_[i].id) = chosen;
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      // With one more placed, others may know all their operands, which is the
      // better reason: ask for these first again.
      if (!must_know_all) return true;
    }
    return open_.size() != before;
  }

  int most_made_on(const std::map<int, std::size_t>& operands,
                   bool must_know_all) {
    std::vector<std::size_t> bytes(at(placement_.ranks), 0);
    for (const auto& [source, size] : operands) {
      const int known = rank_of_source(source);
      if (known >= 0) {
        bytes[at(known)] += size;
        // An argument that is everywhere holds nobody up.
      } else if (must_know_all && is_op(source)) {
        return -1;
      }
    }
    return position_of_most(bytes);
  }

  int most_read_on(int id) {
    std::vector<std::size_t> readers(at(placement_.ranks), 0);
    for (const auto [region, result] : flow_.readers_of(id)) {
      const int known =
          region >= 0 ? rank(region) : placement_.rank_of_result(at(result));
      if (known >= 0) ++readers[at(known)];
    }
    return position_of_most(readers);
  }

  static int position_of_most(const std::vector<std::size_t>& counts) {
    const auto most = std::max_element(counts.begin(), counts.end());
    // The first of equals is taken, so that all ranks place alike.
    return *most == 0 ? -1 : static_cast<int>(most - counts.begin());
  }

  Draft& draft_;
  const RankPlacement& placement_;
  Flow flow_;
  std::vector<Open> open_;
};

class RankPlacer final : public OpPlacer {
 public:
  explicit RankPlacer(const RankPlacement& placement) : placement_(placement) {}

  int rank_of(std::string_view function,
              const Location& location) const override {
    return placement_.rank_of(function, location);
  }

  void place_others(Draft& draft) const override {
    OtherOps(draft, placement_).run();
  }

 private:
  const RankPlacement& placement_;
};

}  // namespace

FlatGraph lower(const Graph& graph, std::string_view entry,
                std::span<const TensorType> arguments,
                const RankPlacement& placement) {
  check(placement, graph);
  // With one rank there is nothing to weigh.
  if (placement.ranks == 1) return lower(graph, entry, arguments);
  const RankPlacer placer(placement);
  return lower(graph, entry, arguments, {}, &placer);
}

}  // namespace weft
