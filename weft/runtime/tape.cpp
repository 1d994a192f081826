// What a tape records, and the gradients that it gives.
#include <algorithm>

#include "weft/autodiff/gradient.h"
#include "weft/ops/constant.h"
#include "weft/ops/shape.h"
#include "weft/runtime/eager.h"

namespace weft {
namespace {

// Tapes nest on one thread; another thread records on its own.
thread_local Tape* innermost_tape = nullptr;

// The function that the first staged value belongs to; null where none is.
FunctionBuilder* builder_of(std::span<const Value> values) {
  const auto staged = std::ranges::find_if(values, &Value::is_staged);
  return staged == values.end() ? nullptr : staged->builder();
}

// Inside a function a tape has nothing to record: the function is the record.
std::vector<Value> staged_gradients(FunctionBuilder& builder,
                                    std::span<const Value> roots,
                                    std::span<const Value> seeds,
                                    std::span<const Value> wrt) {
  for (const Value& seed : seeds) {
    if (!seed.is_staged() || seed.builder() == &builder) continue;
    throw Error(ErrorCode::kInvalidArgument, "tape",
                "a gradient through @{} was asked for in @{}",
                builder.function().name(), seed.function_name())
        .hint(
            "compute inside of the inner function what is differentiated "
            "there");
  }
  // Gradients of captured values are those of the parameters that stand for
  // them here.
  const auto own = [&](std::span<const Value> values) {
    std::vector<Value> found;
    for (const Value& value : values) {
      found.emplace_back(builder, builder.id_of(value));
    }
    return found;
  };
  return gradients(builder, own(roots), seeds, own(wrt));
}

}  // namespace

// Stops a tape from recording while it lives.
class Tape::Pause {
 public:
  explicit Pause(Tape& tape) : tape_(tape), was_recording_(tape.is_recording_) {
    tape.is_recording_ = false;
  }
  ~Pause() { tape_.is_recording_ = was_recording_; }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  Tape& tape_;
  bool was_recording_;
};

Tape::Silence::Silence() {
  for (Tape* tape = innermost_tape; tape; tape = tape->outer_) {
    if (!tape->is_recording_) continue;
    tape->is_recording_ = false;
    silenced_.push_back(tape);
  }
}

Tape::Silence::~Silence() {
  for (Tape* tape : silenced_) tape->is_recording_ = true;
}

Tape::Tape(TapeOptions options) : options_(options), outer_(innermost_tape) {
  innermost_tape = this;
}

Tape::~Tape() {
  // Where an exception unwinds several tapes, each is the innermost as its turn
  // comes; one that was stopped is not.
  if (innermost_tape == this) stop();
}

void Tape::stop() {
  if (innermost_tape != this) {
    throw Error(ErrorCode::kInvalidArgument, "tape",
                "it is not the innermost of this thread's tapes")
        .hint("tapes end in the reverse order of their beginning");
  }
  innermost_tape = outer_;
}

void Tape::watch(Value& value) {
  if (value.is_staged()) return;  // a function knows all of its values
  // A value is known by its number, not by its memory, which a later value may
  // get.
  if (value.id() < 0) value = Value(value.tensor(), Value::fresh_id());
  watched_.insert(value.id());
  roots_.push_back(value);
}

Value Tape::argument(const Value& value) {
  const Value* pointer = &value;
  const bool is_part = value.is_staged() || current_context().builder();
  // Only a node of its own tells the argument from the value in a function, and
  // only an application does on a tape around this one.
  const Value own = is_part || count_watching({&pointer, 1}) > 0
                        ? reshape(value, value.shape())
                        : Value(value.tensor(), Value::fresh_id());
  if (!own.is_staged()) watched_.insert(own.id());
  return own;
}

std::vector<Value> Tape::gradient(const Value& root,
                                  std::span<const Value> wrt) {
  const Value seed = [&] {
    // The seed is no part of what was computed.
    const Pause paused(*this);
    return ones_like(root);
  }();
  return gradient({&root, 1}, {&seed, 1}, wrt);
}

std::vector<Value> Tape::gradient(std::span<const Value> roots,
                                  std::span<const Value> seeds,
                                  std::span<const Value> wrt) {
  if (is_used_ && !options_.is_persistent) {
    throw Error(ErrorCode::kInvalidArgument, "tape",
                "its gradient was asked for already")
        .hint(
            "open it as a persistent one: Tape(persistent=True) in Python, "
            "Tape({.is_persistent = true}) in C++");
  }
  is_used_ = true;
  const Pause paused(*this);  // the walk must not extend what it walks
  // What ran at once is on the tape, also where its gradient becomes a part of
  // a function that is being built; what was staged is in its function.
  FunctionBuilder* builder = builder_of(roots);
  auto result = builder != nullptr
                    ? staged_gradients(*builder, roots, seeds, wrt)
                    : walk(roots, seeds, wrt);
  for (std::size_t i = 0; i < result.size(); ++i) {
    // Nobody who takes a gradient, as an optimizer, need ask whether one
    // flowed.
    if (!result[i].is_defined()) result[i] = zeros_like(wrt[i]);
  }
  return result;
}

std::vector<Value> Tape::walk(std::span<const Value> roots,
                              std::span<const Value> seeds,
                              std::span<const Value> wrt) {
  for (const Value& value : wrt) {
    // A function's own value is watched by nobody, and nothing that ran at
    // once depends on it.
    if (value.is_staged() || watches(value)) continue;
    throw Error(ErrorCode::kInvalidArgument, "tape",
                "a value of type {} was not watched", to_string(value.type()))
        .hint("call tape.watch(value) before computing with it");
  }
  return options_.is_persistent
             // A tape that is asked once gives its list away: each application
             // is dropped when it has been walked over, and the values that it
             // kept with it.
             ? reverse(applications_, roots, seeds, wrt)
             : reverse(std::move(applications_), roots, seeds, wrt);
}

Tape* Tape::innermost() { return innermost_tape; }

bool Tape::would_record(std::span<const Value* const> inputs) const {
  return is_recording_ &&
         std::any_of(inputs.begin(), inputs.end(),
                     [&](const Value* input) { return watches(*input); });
}

std::size_t Tape::count_watching(std::span<const Value* const> inputs) {
  std::size_t count = 0;
  for (const Tape* tape = innermost_tape; tape; tape = tape->outer_) {
    if (tape->would_record(inputs)) ++count;
  }
  return count;
}

void Tape::record_on_all(const Application& application) {
  std::vector<const Value*> inputs;
  for (const Value& input : application.inputs) inputs.push_back(&input);
  for (Tape* tape = innermost_tape; tape; tape = tape->outer_) {
    if (!tape->would_record(inputs)) continue;
    for (const Value& output : application.outputs) {
      // What is computed from a watched value is watched.
      tape->watched_.insert(output.id());
    }
    tape->applications_.push_back(application);
  }
}

void Tape::watch_on_all(std::int64_t id) {
  for (Tape* tape = innermost_tape; tape; tape = tape->outer_) {
    tape->watched_.insert(id);
  }
}

Value Tape::recognise(const Value& value) {
  for (const Tape* tape = innermost_tape; tape; tape = tape->outer_) {
    for (const Value& root : tape->roots_) {
      // The root keeps its memory alive, so no other value can have got the
      // address.
      if (root.tensor().raw() == value.tensor().raw() &&
          root.type() == value.type()) {
        return root;
      }
    }
  }
  return value;
}

}  // namespace weft
