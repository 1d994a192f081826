// Stochastic gradient descent (Robbins and Monro, 1951): p <- p - lr * g.
#include "weft/optim/momentum_rule.h"

namespace weft {

void register_optimizer_sgd(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "sgd",
       .summary = "plain stochastic gradient descent",
       .options = {{"weight_decay", 0.0, "added to the gradient, times p",
                    kBelowOne}},
       .default_lr = 0.1,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<MomentumRule>(MomentumRule::Settings{
             .weight_decay = option<double>(options, "weight_decay")});
       }});
}

}  // namespace weft
