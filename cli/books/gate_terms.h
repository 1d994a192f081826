// The terms of a gate as words of the command line.
#pragma once

#include <string>

#include "weft/gate/terms.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct GateTermsArguments {
  std::string file;  // whose terms are taken; empty: what follows
  std::string condition;
  double reliability = GateTerms().reliability;
  std::string mode{to_string(GateTerms().mode)};
  std::string adaptivity{to_string(GateTerms().adaptivity)};
  std::int64_t steps = GateTerms().steps;
  double difference = GateTerms().difference;
  bool is_difference_known = false;

  // Throws Error(kInvalidArgument) for what is none.
  GateTerms terms() const;
};

void add_gate_terms(CLI::App& verb, GateTermsArguments& arguments);

}  // namespace weft::cli
