// Shows a training run on standard error: a bar in a terminal, plain lines
// elsewhere.
#pragma once

#include <chrono>

#include "weft/nn/model.h"
#include "weft/train/trainer.h"

namespace weft::cli {

class Progress : public TrainObserver {
 public:
  Progress();
  ~Progress() override;

  void on_start(const TrainSummary& summary) override;
  void on_note(const std::string& note) override;
  void on_step(const TrainProgress& progress) override;
  void on_epoch(const TrainProgress& progress,
                const EpochMetrics& metrics) override;

 private:
  using Clock = std::chrono::steady_clock;

  // "loss 0.0187  accuracy 0.9889", or perplexities for language models.
  std::string scores_text(const Scores& scores) const;
  std::string line(const TrainProgress& progress, const Scores& scores) const;
  std::string time_left(const TrainProgress& progress) const;
  void clear();

  bool is_terminal_;
  bool has_bar_ = false;
  TrainSummary summary_;
  Clock::time_point shown_at_;
};

// "weft 0.1.0  digits  …": what is about to happen.
std::string headline(const TrainSummary& summary);
// "AVX-512, oneDNN 2.6.3, 2 threads".
std::string machine_text();
// "f32", "bf16", "bf16 emulated in f32": how products of a dtype are computed.
std::string dtype_text(DType dtype);

}  // namespace weft::cli
