// A call whose run is kept by the tapes that see it (kept_run.h): what a staged
// function that branches, loops or calls itself is to them.
//
// Where two tapes see it, the gradient that the inner one computes is an
// application to the outer one. It and the call share the run, which the outer
// one enters in both, last phase first (graph/phases.h): so neither tape has
// anything computed again. Who asks in another order, once more, or in a third
// tape, has the forward values computed anew.
//
// Threads: as Tape.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "weft/autodiff/reverse.h"
#include "weft/runtime/jit/kept_run.h"

namespace weft {

// One gradient for each input, undefined for those that are not in `wrt`.
Gradients spread(std::vector<Value> gradients, const std::vector<bool>& wrt);

class KeptCall : public std::enable_shared_from_this<KeptCall> {
 public:
  // The gradients of the inputs in `wrt` without the run, from the inputs and
  // results, and the gradients that have arrived at these.
  using Anew = std::function<std::vector<Value>(
      std::span<const Value> kept, std::span<const Value> arrived)>;

  KeptCall(std::shared_ptr<KeptRun> run, std::vector<Value> inputs,
           std::vector<bool> wrt, Anew anew);

  // Puts the call on the tapes. Returns its first `results` results, which the
  // run differentiates.
  std::vector<Value> record(std::size_t results);

 private:
  std::vector<Value> kept() const;
  std::vector<Value> of_floating_results(std::span<const Value> values) const;
  std::vector<Value> enter(const std::vector<Value>& arrived);
  std::vector<Value> backward(std::span<const Value> arrived, bool is_entered);
  void record_gradient(std::span<const Value> arrived,
                       std::vector<Value>& gradients);
  Gradients second_backward(const std::vector<Value>& seeds,
                            std::span<const Value> slopes);
  Gradients computed_anew(const std::vector<Value>& seeds,
                          std::span<const Value> slopes) const;

  std::shared_ptr<KeptRun> run_;
  std::vector<Value> inputs_;
  std::vector<bool> wrt_;
  Anew anew_;
  std::vector<Value> outputs_;
  Value activation_;  // whose gradient says that the run was entered again
};

}  // namespace weft
