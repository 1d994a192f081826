#include "weft/gate/bennett.h"

#include <cmath>

namespace weft {

double bennett_h(double u) {
  // Both terms are nearly u for a small one, and their difference would have no
  // digits left: the series is u^2 / 2 - u^3 / 6 + u^4 / 12 - …
  if (u < 0.05) {
    double sum = 0;
    double power = u;
    for (int k = 2; k <= 14; ++k) {
      power *= k == 2 ? u : -u;
      sum += power / (k * (k - 1));
    }
    return sum;
  }
  return (1 + u) * std::log1p(u) - u;
}

}  // namespace weft
