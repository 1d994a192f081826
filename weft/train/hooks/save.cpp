#include "weft/train/hooks/save.h"

#include "weft/train/step/all_finite.h"
#include "weft/train/train_loop.h"

namespace weft {

void SaveHook::on_step(TrainLoop& loop) {
  const std::int64_t every = loop.recipe().train.checkpoint_every;
  // Steps are counted over the whole run, so a resumed one saves at the same
  // steps.
  if (every > 0 && loop.steps_done() % every == 0) {
    save(loop, /*is_best=*/false);
  }
}

void SaveHook::on_epoch(TrainLoop& loop) { save(loop, loop.epoch().is_best); }

void SaveHook::on_interrupt(TrainLoop& loop, Error& reason) {
  save(loop, /*is_best=*/false);
  reason.detail("checkpoint: " + folder_.last_path().string());
}

void SaveHook::on_failure(TrainLoop&, Error& reason) {
  if (const auto last = folder_.latest()) {
    reason.detail("last good checkpoint: " + last->string());
  }
}

void SaveHook::save(TrainLoop& loop, bool is_best) {
  Worker& worker = loop.worker();
  std::vector<NamedTensor> tensors = worker.checkpoint();
  // All workers give what they hold; the first one looks at it and writes.
  if (!worker.is_first()) return;
  for (const NamedTensor& named : tensors) {
    // A checkpoint from which nobody can go on must not replace one from which
    // one can.
    if (!all_finite(named.tensor)) {
      loop.fail_numeric(fmt::format("'{}' holds NaN or infinity", named.name));
    }
  }
  CheckpointInfo info{
      .recipe = recipe_,
      .step = loop.steps_done(),
      .position = loop.position(),
      .seed = static_cast<std::uint64_t>(loop.recipe().train.seed),
      .metrics = loop.remember(),
      .data = data_};
  if (worker.ranks() > 1) {
    // The mark also says that the file holds more than one worker wants: see
    // SingleWorker::restore().
    info.metrics["workers"] = worker.ranks();
  }
  folder_.save({std::move(info), std::move(tensors)}, is_best);
}

}  // namespace weft
