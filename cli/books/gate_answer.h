// What developers are told of a verdict: one word, and an exit code.
#pragma once

#include "weft/gate/gate.h"

namespace weft::cli {

// "passed" (0), "failed" (1), "waits for labels" (3), or "recorded" (0); on
// standard error what the owner should do where the set is used up. Throws
// AnsweredWith the exit code unless that is 0.
void tell_gate_answer(Gate& gate, GateAnswer answer);

}  // namespace weft::cli
