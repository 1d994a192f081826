// Adam (Kingma and Ba, ICLR 2015); see adam_rule.h for the formula.
#include "weft/optim/adam_rule.h"

namespace weft {

void register_optimizer_adam(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "adam",
       .summary = "adaptive moments, decay coupled with the gradient",
       .options = AdamRule::options(0),
       .default_lr = 0.001,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<AdamRule>(AdamRule::settings(options));
       }});
}

}  // namespace weft
