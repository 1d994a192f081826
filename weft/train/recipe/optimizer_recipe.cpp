#include "weft/optim/groups.h"
#include "weft/optim/wrapper.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

std::unique_ptr<Optimizer> make_optimizer(const OptimizerRecipe& recipe) {
  if (recipe.name == kGivenObject) throw needs_object("optimizer");
  std::vector<ParameterGroup> groups;
  for (const GroupRecipe& group : recipe.groups) {
    // Frozen ones are no trainable parameters (assembly.h).
    if (group.is_frozen) continue;
    groups.push_back({group.parameters, group.lr_scale,
                      wrap_optimizer(make_optimizer(group.name, group.options),
                                     group.wrap, recipe.wrap)});
  }
  return wrap_optimizer(
      group_optimizers(make_optimizer(recipe.name, recipe.options),
                       std::move(groups)),
      recipe.wrap);
}

}  // namespace weft
