// Whether data are as a schema says, and the smallest change of the schema that
// would allow them.
//
// One routine does both: it goes through the schema and mends it wherever the
// data do not fit; each mend is an anomaly. The mended schema allows the data:
// held against it, they have no anomaly.
//
// A new check is one file in weft/validation/checks; its kinds of anomalies may
// be given another severity in schemas.
//
// Threads: pure functions; the registry is immutable.
#pragma once

#include <string>
#include <vector>

#include "weft/base/registry.h"
#include "weft/validation/schema.h"

namespace weft::validation {

struct AnomalyKind {
  std::string name;                      // "unexpected_values"
  std::string summary;                   // for documentation
  Severity severity = Severity::kError;  // unless a schema says another one
};

struct Anomaly {
  std::string kind;
  Severity severity = Severity::kError;
  std::string feature;  // empty: of the data as a whole
  std::string what;     // "values that are not listed"
  std::string detail;   // with numbers and the first values
  std::string edit;     // of the schema, a line for each change
};

// A distance that a schema asks for, also where it is not too large.
struct Measurement {
  std::string feature;
  std::string against;  // "previous" or "serving"
  std::string distance;
  double value = 0;
  double most = 0;
  double floor = 0;   // what sampling alone is expected to make of it
  std::string where;  // the value at which it is attained, if any
};

struct CheckInput {
  const StatisticsSummary& data;
  const StatisticsSummary* previous = nullptr;  // for drift
  const StatisticsSummary* serving = nullptr;   // for skew
  std::string environment = {};                 // empty: any
  // A list of values that would become longer is no list any more.
  std::size_t most_values = 400;
};

struct CheckReport {
  std::vector<Anomaly> anomalies;
  std::vector<Measurement> measurements;
  Schema repaired;

  bool has_errors() const;
};

// Throws Error(kInvalidArgument) for an environment that the schema does not
// know.
CheckReport check(const Schema& schema, const CheckInput& input);

// What a check of one feature sees and does.
class FeatureCheck {
 public:
  FeatureCheck(const CheckInput& input, const FeatureSummary& seen,
               CheckReport& report, FeatureRule& rule);

  const CheckInput& input;
  const FeatureSummary& seen;
  FeatureRule& rule;     // to be mended
  Schema& schema;        // that holds it
  bool is_over = false;  // nothing further is checked of this feature

  // Says what was wrong, behind the mend, which is taken from the rule.
  void report(std::string_view kind, std::string what, std::string detail);
  void measured(Measurement measurement);

 private:
  CheckReport& report_;
  FeatureRule before_;
  std::vector<std::string> values_before_;
};

struct FeatureCheckDef {
  std::string name;
  int order = 0;  // the lower goes first
  std::vector<AnomalyKind> kinds;
  void (*check)(FeatureCheck& feature) = nullptr;
};

using FeatureCheckRegistry = Registry<FeatureCheckDef>;

// All kinds there are, and their names.
std::vector<AnomalyKind> all_anomaly_kinds();
std::vector<std::string> anomaly_kinds();

// "12.5 %", "<1 %" for less than one, of a share.
std::string share_text(double share);
// The share in four digits, as schemas have it, and not above what it was.
double share_below(double share);
// "'a', 'b' and 3 more", as messages list values.
std::string listed(const std::vector<std::string>& values);

}  // namespace weft::validation

namespace weft {
// It is filled from the files of weft/validation/checks.
const validation::FeatureCheckRegistry& feature_check_registry();
}  // namespace weft
