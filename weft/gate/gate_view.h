// Sizes and standings of gates as JSON, for programs: what `weft gate size` and
// `weft gate status` print.
//
// Threads: pure.
#pragma once

#include <string>
#include <string_view>

#include "weft/gate/plan.h"
#include "weft/gate/state.h"

namespace weft {

// {"condition", "reliability", "mode", "adaptivity", "steps", "labelled",
//  "points", "baseline", "labels_differences_only", "labels_a_commit",
//  "clauses": [{"clause", "points", "bound", "why", "bounds": {bound: points},
//  "filter", "points_without"}], "hints"}
std::string plan_json(const GateTerms& terms, const GatePlan& plan);

// {"gate", "condition", "test_set", "uses_left", "alarm", "released",
//  "submissions": [{"model", "time", "verdict"}]}: what developers may know.
std::string status_json(const std::string& gate, const GateLife& life);
// "passed", "failed", "waits for labels", or "recorded" for somebody else.
std::string_view verdict_word(const GateSubmission& submission);

}  // namespace weft
