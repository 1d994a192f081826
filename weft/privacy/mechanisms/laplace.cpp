// A result with Laplace noise.
#include "weft/privacy/hockey_stick.h"
#include "weft/privacy/mechanism.h"
#include "weft/privacy/renyi_divergence.h"

namespace weft {

void register_mechanism_laplace(privacy::MechanismRegistry& mechanisms) {
  mechanisms.add(
      {.name = "laplace",
       .summary = "Laplace noise, of this scale",
       .options = {privacy::noise_option()},
       .renyi =
           [](const Options& options, double order) {
             return privacy::laplace_renyi(option<double>(options, "noise"),
                                           order);
           },
       .hockey_stick =
           [](const Options& options, privacy::Neighbour, double epsilon) {
             return privacy::laplace_hockey_stick(
                 option<double>(options, "noise"), epsilon);
           }});
}

}  // namespace weft
