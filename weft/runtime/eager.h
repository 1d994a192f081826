// Eager execution: every op runs at once, with the kernels that plans use.
// A Tape records what ran while it lives, so that it can be differentiated.
//
//   Tape tape;
//   tape.watch(w);
//   Value loss = mean_squared_error(matmul(x, w), y);
//   Value dw = tape.gradient(loss, {&w, 1})[0];
//
// What is read from trainable variables is watched by itself. The same lines
// work inside a function that is being built: then the gradient is part of it.
//
// Threads: each thread has its own tapes and its own cache of kernels.
#pragma once

#include <unordered_set>
#include <vector>

#include "weft/autodiff/reverse.h"
#include "weft/graph/context.h"

namespace weft {

struct TapeOptions {
  // Keep what was recorded, so that gradient() can be called again.
  bool is_persistent = false;
};

class Tape {
 public:
  // Starts recording on this thread; tapes nest, and all of them record.
  explicit Tape(TapeOptions options = {});
  ~Tape();  // stops
  // Records nothing more; gradient() works as before. The innermost tape stops
  // first.
  void stop();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Gives `value` an identity, so that gradients with respect to it are known.
  // A function that captured the same bytes knows them again.
  void watch(Value& value);
  // `value` as the argument of a function that is differentiated: watched, and
  // no other value, whatever else was given the same or has it by another way.
  // Tapes around this one see gradients flow through it.
  Value argument(const Value& value);

  // The gradient of `root`, seeded with ones. Outer tapes record it, so it can
  // be differentiated again. Zeros where `root` does not depend on a value.
  // Throws Error(kInvalidArgument) for a value that was not watched, and when
  // it is called again unless the tape is persistent.
  std::vector<Value> gradient(const Value& root, std::span<const Value> wrt);
  // The gradient of sum(seed_i * root_i).
  std::vector<Value> gradient(std::span<const Value> roots,
                              std::span<const Value> seeds,
                              std::span<const Value> wrt);

  // --- For what runs ops: the eager runtime and staged functions -----------

  // While it lives, none of this thread's tapes that are open now records.
  class Silence {
   public:
    Silence();
    ~Silence();
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

   private:
    std::vector<Tape*> silenced_;
  };

  // This thread's, or null.
  static Tape* innermost();
  // How many of this thread's tapes would record an application to `inputs`.
  static std::size_t count_watching(std::span<const Value* const> inputs);
  // Hands an application to every tape that watches one of its inputs.
  static void record_on_all(const Application& application);
  // All tapes watch `id` from here on.
  static void watch_on_all(std::int64_t id);
  // `value` with the identity that a tape has given to the same bytes.
  static Value recognise(const Value& value);

 private:
  class Pause;

  std::vector<Value> walk(std::span<const Value> roots,
                          std::span<const Value> seeds,
                          std::span<const Value> wrt);
  bool would_record(std::span<const Value* const> inputs) const;
  bool watches(const Value& value) const {
    return watched_.contains(value.id());
  }

  TapeOptions options_;
  std::vector<Application> applications_;
  std::unordered_set<std::int64_t> watched_;
  std::vector<Value> roots_;  // what watch() was given
  Tape* outer_;
  bool is_recording_ = true;
  bool is_used_ = false;
};

}  // namespace weft
