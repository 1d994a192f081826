// What [sync] codec = "auto" stands for: the codec that a step's exchange is
// fastest with, by the model of the network and the measured speeds of codecs.
//
// Only codecs that keep the accuracy of training with error feedback are
// considered: those that say so themselves (CodecDef::candidate), and none.
// What an exchange by one of them takes is the policy's to say. What overlap
// hides is not counted, so where computing hides the whole exchange, "none" is
// as fast.
//
// Threads: caller synchronises. Collective: the first worker measures, all
// take its choice.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/comm/transport/async_engine.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/topology.h"
#include "weft/train/sync/policy.h"

namespace weft {

// The codecs that are considered, "none" the first.
std::vector<std::string> codec_candidates();

// What a codec does to a gradient: measured, or assumed in tests.
struct CodecSpeed {
  std::string codec;
  bool is_added_on_its_way = false;  // else gathered, under allreduce
  double ratio = 1;                  // bytes of a message per byte of f32
  double encode_seconds_per_byte = 0;
  double decode_seconds_per_byte = 0;
};

// Measures on this thread, with values like those of gradients of one of so
// many workers. Takes tenths of a second.
CodecSpeed measure_codec(const std::string& codec, int workers);

struct CodecPrice {
  std::string codec;
  double seconds = 0;  // of a step's exchange, nothing hidden
  // The bandwidth of the slowest level (bits per second) below which it is
  // faster than "none" for this latency; 0 where it never is, infinity where
  // it always is.
  double pays_below = 0;
};

// Prices for gradients of `bytes` under a policy that knows its seconds, the
// cheapest first.
std::vector<CodecPrice> price_codecs(std::span<const CodecSpeed> speeds,
                                     const Topology& network, double bytes,
                                     const Call<SyncPolicyDef>& policy);

struct AutoCodec {
  std::string codec;
  std::string explanation;  // one line for people
};
AutoCodec choose_codec(Communicator& communicator, AsyncEngine& network,
                       const Topology& topology, double bytes,
                       const Call<SyncPolicyDef>& policy);

}  // namespace weft
