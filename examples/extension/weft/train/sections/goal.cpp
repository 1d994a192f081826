// [goal] ends a run that has learned enough.
#include "weft/train/recipe/section_def.h"
#include "weft/train/train_loop.h"

namespace weft {
namespace {

class Goal final : public TrainHook {
 public:
  explicit Goal(double loss) : loss_(loss) {}

  void on_measure(TrainLoop& loop) override {
    if (loop.epoch().train.loss() < loss_) loop.end_here();
  }

 private:
  double loss_;
};

}  // namespace

void register_recipe_section_goal(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "goal",
       .summary = "what is enough",
       .options = {{"loss",
                    0.0,
                    "of training, below which the run ends; 0: it does not",
                    {.least = 0}}},
       .hook = [](const Options& options) -> std::unique_ptr<TrainHook> {
         const double loss = option<double>(options, "loss");
         if (loss == 0) return nullptr;
         return std::make_unique<Goal>(loss);
       }});
}

}  // namespace weft
