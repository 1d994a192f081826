#include "weft/train/hooks/log.h"

#include "weft/train/train_loop.h"

namespace weft {

void LogHook::on_start(TrainLoop& loop) {
  // The scores of all workers are the same, so that one log has them.
  if (!loop.worker().is_first()) return;
  const std::string& folder = loop.recipe().log.folder;
  log_.emplace(folder, title_, loop.deciding_metric(), loop.epochs_measured(),
               loop.steps_done());
  if (loop.worker().traffic()) traffic_log_.emplace(folder, loop.steps_done());
}

void LogHook::on_step(TrainLoop& loop) {
  const auto traffic = loop.worker().traffic();
  if (!traffic) return;
  traffic_.add(*traffic);
  if (traffic_log_) traffic_log_->add(loop.steps_done(), *traffic);
}

void LogHook::on_measure(TrainLoop& loop) {
  if (loop.worker().traffic()) loop.epoch().traffic = traffic_.mean();
}

void LogHook::on_epoch(TrainLoop& loop) {
  if (log_) log_->add(loop.epoch());
}

}  // namespace weft
