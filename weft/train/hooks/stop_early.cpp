#include "weft/train/hooks/stop_early.h"

#include "weft/train/train_loop.h"

namespace weft {

void StopEarlyHook::on_measure(TrainLoop& loop) {
  // Only a measurement can tell that nothing became better.
  if (!loop.epoch().held_out.is_measured()) return;
  if (loop.epoch().epoch - measure_.best_epoch() >= patience_) loop.end_here();
}

}  // namespace weft
