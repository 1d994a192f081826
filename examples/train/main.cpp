// weft-train RECIPE CHECKPOINT: trains in two ways. First by the Trainer, with
// a hook of this program's own; then by a loop of its own over the same step.
#include <fmt/core.h>

#include "examples/train/own_loop.h"

#include "weft/train/train_loop.h"
#include "weft/train/trainer.h"

namespace {

// Prints what an epoch came to.
class Print : public weft::TrainHook {
 public:
  void on_epoch(weft::TrainLoop& loop) override {
    fmt::print("epoch {}  loss {:.4f}\n", loop.epoch().epoch,
               loop.epoch().held_out.loss());
  }
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const weft::Recipe recipe =
        weft::load_recipe(argc > 1 ? argv[1] : "recipes/digits.toml");
    weft::Trainer trainer(recipe, {.name = "example"});
    trainer.add(std::make_unique<Print>());
    weft::TrainObserver quiet;
    const weft::TrainResult result = trainer.run(quiet);
    fmt::print("best epoch {}\n", result.best_epoch);

    const double best = weft::examples::train_until_it_stalls(
        recipe, argc > 2 ? argv[2] : "best.safetensors");
    fmt::print("by hand: {:.4f}\n", best);
    return 0;
  } catch (const weft::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
