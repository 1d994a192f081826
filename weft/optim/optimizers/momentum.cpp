// Heavy-ball momentum (Polyak, 1964); see momentum_rule.h for the formula.
#include "weft/optim/momentum_rule.h"

namespace weft {

void register_optimizer_momentum(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "momentum",
       .summary = "gradient descent with heavy-ball momentum",
       .options = {{"momentum", 0.9, "share of the velocity that is kept",
                    kBelowOne},
                   {"weight_decay", 0.0, "added to the gradient, times p",
                    kBelowOne}},
       .default_lr = 0.01,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<MomentumRule>(MomentumRule::Settings{
             .momentum = option<double>(options, "momentum"),
             .weight_decay = option<double>(options, "weight_decay")});
       }});
}

}  // namespace weft
