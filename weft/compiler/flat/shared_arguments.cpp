#include "weft/compiler/flat/draft.h"

namespace weft {
namespace {

// Finds for every parameter the one argument of the entry that all calls give
// it, if there is one: the greatest solution, so that a parameter that a
// recursion passes on to itself is what the first call gave.
class Origins {
 public:
  explicit Origins(const FlatGraph& graph)
      : graph_(graph),
        is_open_(graph.nodes.size(), true),
        origin_(graph.nodes.size()) {
    for (const int id : graph.body(0).parameters) {
      // What comes later is nobody's argument in place, and says so at once.
      is_open_[static_cast<std::size_t>(id)] = false;
    }
    // A parameter goes from open to one argument, and from there to several,
    // and never back: this ends after two changes of each.
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
        const FlatNode& node = graph.nodes[id];
        if (node.kind == FlatKind::kParameter && node.body != 0) {
          changed = merge(id) || changed;
        }
      }
    }
  }

  // The argument that `value` is, or node -1.
  Endpoint of(Endpoint value) const {
    // A Switch does not change a value, it only says whether it is there.
    while (graph_.node(value.node).kind == FlatKind::kSwitch) {
      value = graph_.node(value.node).inputs[0];
    }
    if (graph_.is_argument(value)) return value;
    if (graph_.node(value.node).kind != FlatKind::kParameter) return {};
    return origin_[static_cast<std::size_t>(value.node)];
  }

 private:
  bool is_open(Endpoint value) const {
    while (graph_.node(value.node).kind == FlatKind::kSwitch) {
      value = graph_.node(value.node).inputs[0];
    }
    return graph_.node(value.node).kind == FlatKind::kParameter &&
           !graph_.is_argument(value) &&
           is_open_[static_cast<std::size_t>(value.node)];
  }

  bool merge(std::size_t id) {
    const Endpoint before = origin_[id];
    const bool was_open = is_open_[id];
    if (!was_open && before.node < 0) return false;  // settled: several
    for (const Endpoint call : graph_.nodes[id].inputs) {
      const Endpoint given = graph_.node(call.node).inputs[0];
      // A parameter that nothing has been said of yet agrees with everything;
      // it is asked again when it has changed.
      if (is_open(given)) continue;
      const Endpoint source = of(given);
      if (is_open_[id]) {
        is_open_[id] = false;
        origin_[id] = source;
      } else if (!(origin_[id] == source)) {
        origin_[id] = {};
      }
    }
    return was_open != is_open_[id] || !(before == origin_[id]);
  }

  const FlatGraph& graph_;
  std::vector<bool> is_open_;  // by node: no call has been seen to give it
  std::vector<Endpoint> origin_;
};

}  // namespace

void read_arguments_in_place(Draft& draft) {
  const Origins origins(draft.graph);
  for (FlatNode& node : draft.graph.nodes) {
    if (node.kind != FlatKind::kRegion) continue;
    for (Endpoint& input : node.inputs) {
      const Endpoint argument = origins.of(input);
      if (argument.node >= 0) input = argument;
    }
  }
  draft.is_in_place.assign(draft.graph.nodes.size(), false);
  for (std::size_t id = 0; id < draft.graph.nodes.size(); ++id) {
    const FlatNode& node = draft.graph.nodes[id];
    if (node.kind != FlatKind::kParameter || node.body == 0) continue;
    draft.is_in_place[id] = origins.of({static_cast<int>(id), 0}).node >= 0;
  }
}

}  // namespace weft
