// How much a feature says of a label: mutual information, and the lift of each
// value, from statistics that are sliced by the label.
//
// With n(x, y) rows (or values, where rows have lists) of value x and label y
// out of n, in which values that are missing are one, mutual information is
//   I(X; Y) = Σ n(x, y) / n · log2(n n(x, y) / (n(x) n(y))),
// and the lift of x for y, n n(x, y) / (n(x) n(y)), is how much more often y
// comes with x than on the whole. Numbers with many different values are put
// into ten bins of equal counts. Samples of independent features have some
// information, too: (|X| - 1)(|Y| - 1) / (2 n ln 2) bits are expected (Miller,
// "Note on the bias of information estimates", 1955).
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "weft/validation/statistics.h"

namespace weft::validation {

struct Lift {
  std::string value;  // or the range of a bin, or "missing"
  std::string label;
  double lift = 0;
  std::uint64_t count = 0;  // of the value with this label
};

struct LabelAssociation {
  std::string feature;
  double bits = 0;       // mutual information
  double by_chance = 0;  // that independence would be expected to show
  double share = 0;      // of what there is to know of the label; 0 to 1
  // The largest first, and the least last; of values that come often enough
  // for a lift to say something.
  std::vector<Lift> lifts;
};

// An association for each feature but the label, the most informative first.
// Left out are texts with more different values than are counted exactly, and
// rows without a label. `statistics` must have slices of `label`.
std::vector<LabelAssociation> associate(const Statistics& statistics,
                                        const std::string& label);

}  // namespace weft::validation
