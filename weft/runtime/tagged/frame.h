// One activation of a body. Its address is the tag of the values that belong
// to it: a frame is in use as long as any value travels under its tag.
//
// Threads: what several workers change is atomic; a slot is written by who
//          sends the value, before the receiver is told.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <new>

#include "weft/runtime/tagged/layout.h"
#include "weft/runtime/tagged/peers.h"
#include "weft/tensor/tensor_bytes.h"

namespace weft {

// What an outermost activation and those within it have added up.
struct Sums {
  std::map<int, Tensor> totals;  // by accumulator; missing where nothing was

  // Adds `value`; it may be kept.
  void add(int accumulator, Tensor value);
  // The total so far, zeros at first, to be added to.
  Tensor& total(int accumulator, const TensorType& type);
};

struct Frame {
  const Layout* layout = nullptr;  // null while it is free
  Frame* parent = nullptr;         // where results go; null for the entry
  int site = -1;                   // where the parent calls it
  // What may still happen here: arguments to come, work that is ready or
  // running, and activations that return here. At zero it is done.
  std::int32_t outstanding = 0;
  Sums* sums = nullptr;    // that it adds to
  bool owns_sums = false;  // and has not sent on yet
  ActivationTag tag = {};  // for other ranks; set only where there are some

  std::byte* at(std::uint32_t offset) {
    return reinterpret_cast<std::byte*>(this) + offset;
  }
  TensorBytes& tensor(std::uint32_t slot) {
    return *std::launder(reinterpret_cast<TensorBytes*>(at(slot)));
  }
  std::uint64_t& word(std::uint32_t slot) {
    return *reinterpret_cast<std::uint64_t*>(at(slot));
  }
  std::uint32_t& pending(std::uint32_t work) {
    return *reinterpret_cast<std::uint32_t*>(
        at(layout->pending_offset + work * 4));
  }
  Frame*& child(std::uint32_t offset) {
    return *reinterpret_cast<Frame**>(at(offset));
  }
};

}  // namespace weft
