// AdamW (Loshchilov and Hutter, ICLR 2019); see adam_rule.h for the formula.
#include "weft/optim/adam_rule.h"

namespace weft {

void register_optimizer_adamw(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "adamw",
       .summary = "adaptive moments, decay apart from the gradient",
       .options = AdamRule::options(0.01),
       .default_lr = 0.001,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         AdamRule::Settings settings = AdamRule::settings(options);
         settings.is_decoupled = true;
         return std::make_unique<AdamRule>(settings);
       }});
}

}  // namespace weft
