// Trains a linear model of sparse examples by lock-free SGD, epoch by epoch,
// and measures it: what `weft sgd` does.
//
//   const LinearRun run = run_linear(rows, {.sgd = {.threads = 2}, .epochs =
//   5}); run.epochs.back().loss
//
// Threads: may be called from any thread; each call starts its own.
// Errors:  those of epoch_sgd.h and linear_model.h, and Error(kNumeric) where a
//          loss is no number.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "weft/concurrent/sgd/epoch_sgd.h"
#include "weft/concurrent/sgd/linear_model.h"

namespace weft::concurrent {

struct LinearRunOptions {
  // The passes are the epochs'.
  LinearModelOptions model = {};
  // What is traced is the first epoch; its iterations are the rows.
  SgdOptions sgd = {};
  int epochs = 10;
  double decay = 1;  // of the rate, from epoch to epoch
  // FullSGD: threads do not meet between epochs, of which each has a copy of
  // the model and half of the rate; the last one alone is measured.
  bool is_full = false;
  bool is_double = false;  // f64 in the place of f32
  // Also runs an epoch of integer additions, and counts those that are lost.
  bool counts_lost = false;
};

struct LinearEpoch {
  int number = 0;  // from 1
  double rate = 0;
  double loss = 0;     // at its end
  double seconds = 0;  // since the start, without measuring
  SgdRun run;          // without the trace
};

struct LinearRun {
  double first_loss = 0;  // of all zeros
  std::vector<LinearEpoch> epochs;
  DelayStatistics delays;      // of what was traced
  std::optional<double> lost;  // the share of all additions
  std::vector<double> x;       // the model
};

// `on_epoch` is told of each, if there is one.
LinearRun run_linear(
    const SparseRows& rows, const LinearRunOptions& options,
    const std::function<void(const LinearEpoch&)>& on_epoch = {});

}  // namespace weft::concurrent
