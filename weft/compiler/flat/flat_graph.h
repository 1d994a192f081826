// The functions of a graph as one flat, static, cyclic dataflow graph.
//
// Every function body stands in it exactly once, whatever calls it and however
// often. A call is a Call node per argument, which carries a value into the
// body, and a Return node per result, which carries one back; so recursion is
// a cycle, and the graph does not depend on the input of a run. What tells the
// activations of a body apart is the tag that each value travels under
// (executor.h). Between calls and branches stand regions: pieces without
// either, planned as a whole.
//
// A gradient enters the activation of its call again (graph/phases.h): then the
// Calls and Returns of a site belong to phases.
//
// Method: Kostopoulou, Charalambidis, Rondogiannis, "Recursive Function
//         Definitions in Static Dataflow Graphs and their Implementation in
//         TensorFlow", 2024 (arXiv 2410.20225).
// Threads: a value type; share freely once built.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

enum class FlatKind {
  kParameter,   // a body's: merges the Calls of its sites; or an argument of
                // the entry, when its body is 0
  kRegion,      // runs a Function without calls and branches
  kSwitch,      // (data, predicate) -> (data if true, data if false)
  kMerge,       // passes on the one of its inputs that arrives
  kCall,        // an argument, from the caller's activation into the callee's
  kReturn,      // a result, from the callee's activation into the caller's
  kAccumulate,  // adds to an accumulator, of this activation or its caller's
  kTotal,       // what was added, when all that could add has ended
  kSend,        // a value that another rank receives in the same activation
  kReceive,     // what another rank sends
};

// Output `output` of node `node`.
struct Endpoint {
  int node = -1;
  int output = 0;

  bool operator==(const Endpoint&) const = default;
  auto operator<=>(const Endpoint&) const = default;
};

struct FlatNode {
  FlatKind kind;
  int body;  // whose activation its outputs, or a Call's inputs, belong to
  std::vector<Endpoint> inputs = {};
  // A value whose arrival a region, a Receive or a Call without inputs of its
  // own awaits: it marks the branch. Node -1 where the activation itself is
  // enough.
  Endpoint trigger = {};
  int site = -1;    // a Call and a Return have one
  int phase = 0;    // theirs: in which one they enter the activation; of an
                    // argument of the entry, with which it comes (lowering.h)
  int index = -1;   // which parameter, argument, result or accumulator it is;
                    // a Send and a Receive say which crossing
  int region = -1;  // which one a region runs
  std::vector<TensorType> types = {};  // what its outputs are
};

// Where one body calls another.
struct CallSite {
  int caller = -1;
  int callee = -1;
  // What the callee accumulates is added to the caller's accumulators.
  bool adds_to_caller = false;
  std::vector<int> calls = {};    // nodes
  std::vector<int> returns = {};  // nodes
  Location location = {};
};

struct Body {
  std::string name;
  std::vector<int> parameters = {};    // nodes
  std::vector<Endpoint> results = {};  // what its activation gives
};

struct Region {
  Function function;  // its parameters are the inputs of its node
  int rank = 0;       // that computes it (placement.h)
};

// A value that one rank makes and another reads (partition.h).
struct Crossing {
  int from = 0;
  int to = 0;
  TensorType type = {};
  std::string value = {};  // for people: "n12 of @tree"
  // The entry's argument that is sent, before its activation begins; -1 for
  // other values.
  int argument = -1;
};

struct FlatGraph {
  std::vector<Body> bodies;  // the entry first
  std::vector<FlatNode> nodes;
  std::vector<CallSite> sites;
  std::vector<Region> regions;
  // A part of a graph lists the crossings between all ranks.
  std::vector<Crossing> crossings = {};

  const FlatNode& node(int id) const {
    return nodes[static_cast<std::size_t>(id)];
  }
  const Body& body(int id) const {
    return bodies[static_cast<std::size_t>(id)];
  }
  const TensorType& type(Endpoint value) const {
    return node(value.node).types[static_cast<std::size_t>(value.output)];
  }
  // Whether a region reads `value` where it lies instead of receiving it: the
  // arguments of the entry stay in place for the whole run, but for those that
  // come later.
  bool is_argument(Endpoint value) const {
    const FlatNode& source = node(value.node);
    return source.kind == FlatKind::kParameter && source.body == 0 &&
           source.phase == 0;
  }
};

// Checks what the executor relies on: values stay within an activation but
// for Calls and Returns, which belong to a site and fit the parameters and
// results of its callee; a node's inputs lie on the same branch, so that
// all or none of them arrive, and a Merge joins both sides of one; the rest
// has no cycles. Throws Error(kInternal) that prints the offending node.
void verify(const FlatGraph& graph);

// This is for people: a line per node, grouped by body.
std::string to_string(const FlatGraph& graph);
std::string to_string(const FlatGraph& graph, int node);
// The same for Graphviz: a box per body.
std::string to_dot(const FlatGraph& graph);

}  // namespace weft
