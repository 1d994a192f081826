// [target] loss = 0.1 ends a run as soon as the held-out loss is that low.
#include "weft/train/recipe/section_def.h"
#include "weft/train/train_loop.h"

namespace weft {
namespace {

class Target final : public TrainHook {
 public:
  explicit Target(double loss) : loss_(loss) {}

  // Runs behind the measuring, and not at all where nothing was measured: no
  // number is less than one that is missing.
  void on_measure(TrainLoop& loop) override {
    if (loop.epoch().held_out.loss() <= loss_) loop.end_here();
  }

 private:
  double loss_;
};

}  // namespace

void register_recipe_section_target(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "target",
       .summary = "what is good enough",
       .options = {{.name = "loss",
                    .value = 0.0,
                    .summary = "on held-out data, at which a run ends; "
                               "0: as the epochs say",
                    .range = {.least = 0}}},
       .hook = [](const Options& options) -> std::unique_ptr<TrainHook> {
         const double loss = option<double>(options, "loss");
         if (loss == 0) return nullptr;
         return std::make_unique<Target>(loss);
       }});
}

}  // namespace weft
