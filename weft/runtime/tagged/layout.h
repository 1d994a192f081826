// The flat graph as the executor reads it: for each body the units of work of
// an activation, where in its frame their inputs wait, and where every value
// goes. Merges and parameters take no work here: what is sent to one goes to
// those who read it.
//
// Threads: immutable once built; share freely.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/compiler/flat/flat_graph.h"

namespace weft {

// How a unit of work learns that it can run.
enum class Readiness : std::uint8_t {
  kAtOnce,    // one value is all it waits for
  kCounted,   // it counts down the values that it waits for
  kArgument,  // a call passes on what there is, when there is something
};

// Where a value goes within an activation.
struct Target {
  static constexpr std::uint32_t kNowhere = ~0u;

  std::uint32_t work;
  std::uint32_t slot;      // bytes into the frame; kNowhere for a trigger
  std::uint32_t argument;  // which of a call's
  Readiness readiness;
  bool is_call;
};

// All places that one value goes to.
struct Port {
  bool is_inline;  // scalars lie in the frame itself, in 8 bytes
  std::vector<Target> targets = {};
};

// Where an input of a unit of work is when it runs.
struct Input {
  TensorType type;
  bool is_inline;
  bool is_argument;    // it is the entry's, read in place; or a call's trigger
  std::uint32_t slot;  // bytes into the frame, or the number of the argument
};

struct Work {
  FlatKind kind;  // region, switch, call, return, accumulate, send or receive
  // Values that it waits for; 0 if none, or for a call that passes on each
  // argument when it is there.
  std::uint32_t pending = 0;
  int region = -1;
  int site = -1;   // which one a call is of
  int index = -1;  // which result is returned, to what is added, what crosses
  std::vector<Input> inputs = {};
  // These are a region's results, a switch's sides, or a call's arguments.
  std::vector<Port> outputs = {};
  std::uint32_t child = 0;  // where a call's frame keeps the callee's
  bool is_first = false;    // runs as soon as its activation begins
};

// In what a call still has to pass on, besides a bit per argument: it is
// queued already.
constexpr std::uint32_t kQueued = 1u << 31;

// What an activation of one body is made of.
struct Layout {
  int body = -1;
  std::string name;
  std::vector<Work> works = {};
  std::vector<std::uint32_t> first = {};  // works that run when it begins
  std::vector<Port> parameters = {};
  // Accumulators, and where their totals go.
  struct Total {
    int accumulator;
    TensorType type;
    Port port;
  };
  std::vector<Total> totals = {};
  // The frame: a header, then the callees' frames, then for each work what it
  // still waits for, then the slots.
  std::size_t frame_bytes = 0;
  std::uint32_t children = 0;
  std::uint32_t pending_offset = 0;
  std::vector<std::uint32_t> pending = {};  // as an activation begins
  std::vector<std::uint32_t> tensors = {};  // the slots that hold one
};

// The accumulator that a value of `layout` is added to, if it goes nowhere
// else; or -1.
int accumulator_of(const Layout& layout, const Port& port);
// Which results of a region go to an accumulator only; of several that go to
// the same one, the first.
std::vector<bool> accumulated_results(const Layout& layout, const Work& work);

struct SiteLayout {
  int caller;
  int callee;
  // The callee's results are the caller's: they go straight to where the
  // caller's go, and the caller's frame need not wait for them.
  bool is_tail = false;
  // A loop: the activation begins when all arguments are there, not with the
  // first, so that no iteration runs ahead of what it does not wait for.
  bool is_strict = false;
  bool adds_to_caller = false;
  std::uint32_t arguments;         // Calls that make up the call
  std::vector<Port> results = {};  // by result of the callee
  Location location;
};

struct ProgramLayout {
  explicit ProgramLayout(const FlatGraph& graph);

  std::vector<Layout> bodies;
  std::vector<SiteLayout> sites;
};

// Whether values of this type lie in the frame itself.
inline bool is_inline(const TensorType& type) { return type.shape.is_scalar(); }

}  // namespace weft
