#include "weft/compiler/flat/flat_graph.h"

#include <algorithm>

#include "weft/compiler/flat/branches.h"

namespace weft {
namespace {

class Verifier {
 public:
  explicit Verifier(const FlatGraph& graph) : graph_(graph) {}

  void run() {
    if (graph_.bodies.empty()) {
      throw Error(ErrorCode::kInternal, "verify", "a flat graph has an entry");
    }
    for (int id = 0; id < count(graph_.nodes); ++id) check_node(id);
    for (int id = 0; id < count(graph_.sites); ++id) check_site(id);
    for (int id = 0; id < count(graph_.bodies); ++id) {
      for (const Endpoint result : graph_.body(id).results) {
        // A result leaves when its activation has it, so it cannot be
        // another's.
        if (!exists(result) || owner(result) != id) {
          throw Error(ErrorCode::kInternal, "verify",
                      "a result of @{} is not of its activation",
                      graph_.body(id).name);
        }
      }
    }
    // This is done last, as it follows inputs and triggers without looking
    // whether they exist.
    const Branches branches(graph_);  // that there are some is the check
  }

 private:
  template <class Items>
  static int count(const Items& items) {
    return static_cast<int>(items.size());
  }

  [[noreturn]] void fail(int id, const std::string& message) const {
    fail_verification(graph_, id, message);
  }

  bool exists(Endpoint value) const {
    return value.node >= 0 && value.node < count(graph_.nodes) &&
           value.output >= 0 &&
           value.output < count(graph_.node(value.node).types);
  }

  // The body whose activation a value belongs to.
  int owner(Endpoint value) const {
    // A Call stands in the caller, and what it gives belongs to the callee.
    const FlatNode& node = graph_.node(value.node);
    if (node.kind != FlatKind::kCall) return node.body;
    return graph_.sites[static_cast<std::size_t>(node.site)].callee;
  }

  const CallSite& site_of(int id) const {
    const int site = graph_.node(id).site;
    if (site < 0 || site >= count(graph_.sites)) {
      fail(id, "a Call or Return belongs to no call site");
    }
    return graph_.sites[static_cast<std::size_t>(site)];
  }

  void check_node(int id) {
    const FlatNode& node = graph_.node(id);
    for (const Endpoint input : node.inputs) {
      if (!exists(input)) fail(id, "an input does not exist");
    }
    if (node.trigger.node >= 0 &&
        (!exists(node.trigger) || owner(node.trigger) != node.body)) {
      fail(id, "the trigger is of another activation");
    }
    switch (node.kind) {
      case FlatKind::kParameter:
        return check_parameter(id);
      case FlatKind::kRegion:
        return check_region(id);
      case FlatKind::kSwitch:
        if (node.inputs.size() != 2 || node.types.size() != 2 ||
            !(graph_.type(node.inputs[1]) == TensorType{DType::kBool, {}}))
          fail(id, "a Switch takes a value and a bool scalar");
        return check_local(id);
      case FlatKind::kMerge:
        if (node.inputs.size() != 2) fail(id, "a Merge joins two branches");
        return check_local(id);
      case FlatKind::kAccumulate:
        if (node.inputs.size() != 1) fail(id, "one value is added");
        return check_local(id);
      // It is sent when the activation ends, not when inputs come.
      case FlatKind::kTotal:
        if (!node.inputs.empty()) fail(id, "a total waits for no value");
        return;
      case FlatKind::kCall:
        return check_call(id);
      case FlatKind::kReturn:
        return check_return(id);
      case FlatKind::kSend:
      case FlatKind::kReceive:
        return check_crossing(id);
    }
  }

  void check_local(int id) const {
    for (const Endpoint input : graph_.node(id).inputs) {
      if (owner(input) != graph_.node(id).body) {
        fail(id, "an input is of another activation");
      }
    }
  }

  void check_parameter(int id) const {
    const FlatNode& node = graph_.node(id);
    // The run begins the entry once; a call of it goes to a body of its own
    // (lowering.cpp).
    if (node.body == 0 && !node.inputs.empty()) {
      fail(id, "nothing calls the entry");
    }
    for (const Endpoint input : node.inputs) {
      const FlatNode& call = graph_.node(input.node);
      if (call.kind != FlatKind::kCall || call.index != node.index ||
          owner(input) != node.body) {
        fail(id, "a parameter merges the Calls for it");
      }
    }
  }

  void check_region(int id) const {
    const FlatNode& node = graph_.node(id);
    if (node.region < 0 || node.region >= count(graph_.regions)) {
      fail(id, "the region does not exist");
    }
    const Function& function =
        graph_.regions[static_cast<std::size_t>(node.region)].function;
    if (function.parameters().size() != node.inputs.size() ||
        function.results().size() != node.types.size()) {
      fail(id, "the region takes or returns another number of values");
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Endpoint input = node.inputs[i];
      // An argument of the entry is read in place, in whichever body.
      if (graph_.is_argument(input)) continue;
      if (owner(input) != node.body) {
        fail(id, "an input is of another activation");
      }
      if (!(graph_.type(input) == function.type(function.parameters()[i]))) {
        fail(id, "an input has another type");
      }
    }
  }

  void check_call(int id) const {
    const FlatNode& node = graph_.node(id);
    const CallSite& site = site_of(id);
    if (std::count(site.calls.begin(), site.calls.end(), id) != 1) {
      fail(id, "a Call belongs to no call site");
    }
    // A bare Call carries nothing and only begins an activation.
    if (node.inputs.size() != (node.index < 0 ? 0u : 1u)) {
      fail(id, "a Call carries one argument");
    }
    check_local(id);
  }

  void check_return(int id) const {
    const FlatNode& node = graph_.node(id);
    const CallSite& site = site_of(id);
    // Without a Call no activation begins, and the Return would be awaited for
    // ever.
    if (site.calls.empty() ||
        std::count(site.returns.begin(), site.returns.end(), id) != 1) {
      fail(id, "a Return has no matching Call");
    }
    const Body& callee = graph_.body(site.callee);
    if (node.inputs.size() != 1 || node.index < 0 ||
        node.index >= count(callee.results) ||
        !(node.inputs[0] ==
          callee.results[static_cast<std::size_t>(node.index)])) {
      fail(id, "a Return carries a result of its callee");
    }
  }

  void check_crossing(int id) const {
    const FlatNode& node = graph_.node(id);
    if (node.index < 0 || node.index >= count(graph_.crossings)) {
      fail(id, "the crossing does not exist");
    }
    const TensorType& type =
        graph_.crossings[static_cast<std::size_t>(node.index)].type;
    const bool is_send = node.kind == FlatKind::kSend;
    if (node.inputs.size() != (is_send ? 1u : 0u) ||
        node.types.size() != (is_send ? 0u : 1u) ||
        !(type == (is_send ? graph_.type(node.inputs[0]) : node.types[0]))) {
      fail(id, "one value of the crossing's type is sent or received");
    }
    check_local(id);
  }

  void check_site(int site_id) const {
    const CallSite& site = graph_.sites[static_cast<std::size_t>(site_id)];
    for (const int id : site.calls) {
      const FlatNode& node = graph_.node(id);
      if (node.kind != FlatKind::kCall || node.site != site_id ||
          node.body != site.caller) {
        fail(id, "a call site lists what is no Call of it");
      }
    }
    for (const int id : site.returns) {
      const FlatNode& node = graph_.node(id);
      if (node.kind != FlatKind::kReturn || node.site != site_id ||
          node.body != site.caller) {
        fail(id, "a call site lists what is no Return of it");
      }
    }
    for (const int id : graph_.body(site.callee).parameters) {
      const auto& inputs = graph_.node(id).inputs;
      const auto calls = std::count_if(
          inputs.begin(), inputs.end(), [&](const Endpoint& input) {
            return graph_.node(input.node).site == site_id;
          });
      // The second value would overwrite the first in its slot.
      if (calls > 1) fail(id, "a call site gives this parameter twice");
    }
  }

  const FlatGraph& graph_;
};

}  // namespace

void verify(const FlatGraph& graph) { Verifier(graph).run(); }

}  // namespace weft
