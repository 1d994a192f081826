// What ranks tell each other of their contributions before they choose how to
// sum them: how many items each has, and a sample of where they are.
//
// Every rank gives the indices of a few of its items at regular distances, as
// ranks do to find the splitters of a sample sort (Shi and Schaeffer,
// "Parallel sorting by regular sampling", 1992). Between samples lie about
// equally many items, so cells are narrow where items are many, however
// skewed the supports are.
//
// Threads: as the transport.
#pragma once

#include <span>
#include <vector>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/sparse/stream.h"
#include "weft/comm/sparse/support.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/topology.h"

namespace weft {

// The same on all ranks.
struct Survey {
  std::uint64_t most_items = 0;  // of one contribution
  Support support;
};

// What one rank says: its number of items and the sampled indices.
struct SurveyMessage {
  std::uint64_t items = 0;
  std::vector<std::uint64_t> indices;
};

// Throws Error(kDataLoss) naming the field; ranks is at least 1.
SurveyMessage read_survey_message(ByteReader in, const StreamType& type,
                                  int ranks);

// There is one message per rank.
Support support_of(std::span<const SurveyMessage> messages,
                   const StreamType& type);

// Everyone sends everyone the same few numbers, at least 8 indices a rank and
// 256 in all: one latency. Throws Error(kDataLoss) for a damaged message,
// naming rank and field.
Task<Survey> survey(Channel channel, const Stream& stream);

// What that takes, and the choice that follows it.
double survey_seconds(int ranks, const Level& network);

}  // namespace weft
