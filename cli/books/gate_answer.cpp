#include "cli/books/gate_answer.h"

#include <fmt/core.h>

#include "cli/verb.h"

namespace weft::cli {
namespace {

constexpr int kModelFailed = 1;
constexpr int kModelWaits = 3;

}  // namespace

void tell_gate_answer(Gate& gate, GateAnswer answer) {
  if (gate.state().life->end != GateEnd::kNot) {
    fmt::print(stderr,
               "weft: the test set is used up: weft gate init begins with a "
               "new one\n");
  }
  switch (answer) {
    case GateAnswer::kPassed:
      fmt::print("passed\n");
      return;
    case GateAnswer::kRecorded:
      fmt::print("recorded\n");
      return;
    case GateAnswer::kFailed:
      fmt::print("failed\n");
      throw AnsweredWith{kModelFailed};
    case GateAnswer::kWaiting:
      fmt::print("waits for labels\n");
      throw AnsweredWith{kModelWaits};
  }
}

}  // namespace weft::cli
