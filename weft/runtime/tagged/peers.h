// The other ranks, as the executor of one part of a graph sees them
// (partition.h): values to and from them, under the tag of the activation that
// both sides know.
//
// A tag is made from the tag of the caller and the number of the call site, by
// a mixing that loses nothing for one site, and that keeps the tags of
// different sites apart as 128 random bits are: no rank has to ask another how
// it names an activation.
//
// This is the seam to comm/, which is above: comm/graph/network_peers.h is the
// network behind it.
//
// Threads: that of the executor's run.
#pragma once

#include <vector>

#include "weft/base/error.h"
#include "weft/base/philox.h"
#include "weft/compiler/flat/flat_graph.h"
#include "weft/tensor/tensor.h"

namespace weft {

// Names an activation on all ranks.
using ActivationTag = PhiloxBlock;

// That of the entry is all zeros. Of what `caller` calls at `site`:
constexpr ActivationTag tag_of_call(const ActivationTag& caller, int site) {
  return philox4x32(caller, static_cast<std::uint64_t>(site));
}

// A value under way.
struct Parcel {
  ActivationTag activation = {};
  int crossing = 0;
  Tensor value;
};

class Peers {
 public:
  virtual ~Peers() = default;
  Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // All ranks begin the same runs, of parts of the same graph. `graph` lives
  // until the run has ended or failed.
  virtual void begin_run(const FlatGraph& graph) = 0;
  // Sends it to the rank where the crossing leads. Returns at once.
  virtual void send(Parcel parcel) = 0;
  // Moves messages for up to `seconds`, or until one comes, and adds what has
  // come in this run to `parcels`. Throws what ended the run on another rank.
  virtual void poll(double seconds, std::vector<Parcel>& parcels) = 0;
  // This rank's part is over; returns when that of every rank is.
  virtual void end_run() = 0;
  // Ends the run on all ranks. Nothing can be run after it.
  virtual void fail(const Error& error) noexcept = 0;
};

}  // namespace weft
