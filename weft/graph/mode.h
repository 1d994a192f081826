// A switch of the program that decides what is computed, such as whether a
// layer trains. Who reads it while a staged function is traced is traced again
// once it has been switched; switched back, the first graph is found again.
//
// Copies are one switch.
//
// Threads: caller synchronises.
#pragma once

#include <memory>

#include "weft/graph/context.h"

namespace weft {

// How a mode was found.
struct ModeReading {
  std::shared_ptr<const bool> mode;
  bool was_on;

  bool still_holds() const { return *mode == was_on; }
  friend bool operator==(const ModeReading&, const ModeReading&) = default;
};

class Mode {
 public:
  explicit Mode(bool is_on) : is_on_(std::make_shared<bool>(is_on)) {}

  // A function that is being traced depends on the answer from here on.
  bool is_on() const {
    current_context().depend_on({is_on_, *is_on_});
    return *is_on_;
  }
  void set(bool is_on) const { *is_on_ = is_on; }

 private:
  std::shared_ptr<bool> is_on_;
};

}  // namespace weft
