// A result with Gaussian noise.
#include "weft/privacy/hockey_stick.h"
#include "weft/privacy/mechanism.h"
#include "weft/privacy/renyi_divergence.h"

namespace weft {

void register_mechanism_gaussian(privacy::MechanismRegistry& mechanisms) {
  mechanisms.add(
      {.name = "gaussian",
       .summary = "Gaussian noise, of this standard deviation",
       .options = {privacy::noise_option()},
       .renyi =
           [](const Options& options, double order) {
             return privacy::gaussian_renyi(option<double>(options, "noise"),
                                            order);
           },
       .hockey_stick =
           [](const Options& options, privacy::Neighbour, double epsilon) {
             return privacy::gaussian_hockey_stick(
                 option<double>(options, "noise"), epsilon);
           }});
}

}  // namespace weft
