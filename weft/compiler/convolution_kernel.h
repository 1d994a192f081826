// Kernels of convolutions made larger by taps of zero, as rules need it that
// make one convolution of several.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include "weft/compiler/rule.h"
#include "weft/ops/conv.h"

namespace weft {

// The window of a convolution that can be made larger: a dense one with an odd
// number of taps each way, all channels together.
struct KernelWindow {
  Integers size;     // rows, columns
  Integers padding;  // top, bottom, left, right

  // Where the middle of the first window lies, and that of the last.
  Integers middle() const;
};

// Nothing for another convolution, and where the kernel's size is symbolic.
std::optional<KernelWindow> window_of(const MatchedNode& convolution);

// The smallest window that both fit into; nothing where their middles differ.
std::optional<KernelWindow> joined(const KernelWindow& a,
                                   const KernelWindow& b);

// Weights [rows, columns, in, out] with zeros around them.
Value widened(const Value& weights, const Integers& size);

// The attributes of a convolution for another window.
Attributes with_window(Attributes attributes, const KernelWindow& window);

}  // namespace weft
