// What simplifies a function before it is planned: passes, each of which
// computes the same with fewer or simpler nodes.
//
//   const Function simple = run_passes(function, {.may_round = true});
//
// A new pass is one file in weft/compiler/passes/; rules that are always used
// (rule.h) take their turns among them. Most are rewrites, which see
// one application of an op at a time, all in one walk through the function:
// what a rewrite makes is seen by the others again. The rest take a whole
// function, after that walk.
//
// Threads: pure functions; the registry is immutable.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/base/registry.h"
#include "weft/compiler/rewriter.h"
#include "weft/graph/function.h"

namespace weft {

// A function in the text form (graph/text.h) and what the pass alone makes of
// it; `after` is empty where it must leave the function alone. Attributes that
// have their defaults may be left out.
struct PassSample {
  std::string before;
  std::string after = {};
};

struct PassDef {
  std::string name;
  std::string summary;
  // Those of lower order come first: rewrites are asked, and passes over whole
  // functions run, in this order. No two have the same.
  int order = 0;

  // --- Guards ---------------------------------------------------------------
  // The ops that a rewrite is asked for; none: all.
  std::vector<std::string> ops = {};
  // Whether every result keeps its bits. Others run only where results may
  // round otherwise (PassOptions).
  bool keeps_bits = true;
  // Without it some functions could not be planned: it is never left out.
  bool is_needed = false;

  // --- One of both ----------------------------------------------------------
  // The results of an application, if the pass knows better; or nothing, then
  // others are asked, and the op stays in the end. It may also change operands
  // and attributes, and leave the rest to others.
  std::optional<std::vector<Value>> (*rewrite)(
      Rewriter& rewriter, OpApplication& application) = nullptr;
  Function (*run)(const Function& function) = nullptr;

  std::vector<PassSample> samples = {};
};

using PassRegistry = Registry<PassDef>;
// It is filled from the files of weft/compiler/passes.
const PassRegistry& pass_registry();

struct PassOptions {
  // Whether results may round otherwise than those of the ops one by one.
  bool may_round = true;
  // Passes and rules that are left out, to find the one that is at fault.
  std::vector<std::string> without = {};
};

// Throws Error(kInvalidArgument) for a name that is no pass's and no rule's,
// with the nearest one, or that of a pass that is needed.
void check(const PassOptions& options);

// All passes in order, those left out aside. Dims must be static, since kernels
// are asked.
Function run_passes(const Function& function, const PassOptions& options = {});

}  // namespace weft
