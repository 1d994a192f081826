// What the ranks that keep a market together say to each other: one text of
// each to all, step by step, signed.
//
// A message names the conversation and its place in it, so that one which is
// kept and sent again, sent in another order, or said by another is refused.
// The conversation is called by numbers that all ranks draw as it begins.
//
// Threads: as its exchange.
// Errors:  Error(kDataLoss) naming the rank for a message that is not what is
//          due; what the exchange throws where a rank is gone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/market/keys.h"
#include "weft/market/text_exchange.h"

namespace weft::market {

// A message in its envelope, and what is in it. `open_envelope` throws
// Error(kInvalidArgument) for one that is signed by another, or of another
// conversation, step or phase.
struct Place {
  Digest conversation{};
  std::int64_t step = 0;
  std::string phase;  // "signature"
};
std::string seal_envelope(const SigningKey& from, const Place& place,
                          std::string_view text);
std::string open_envelope(const PublicKey& from, const Place& place,
                          std::string_view envelope);

class Conversation {
 public:
  // Collective. Throws Error(kInvalidArgument), on all ranks, where a rank has
  // the key of no validator or of another rank's.
  Conversation(TextExchange& ranks, const SigningKey& key,
               const std::vector<PublicKey>& validators);

  int rank() const { return exchange_.rank(); }
  int size() const { return exchange_.size(); }
  const std::vector<PublicKey>& validators() const {
    return ranks_;
  }  // by rank

  // Collective: what each rank says in this phase, by rank.
  std::vector<std::string> exchange(const std::string& phase,
                                    const std::string& text);

 private:
  TextExchange& exchange_;
  const SigningKey& key_;
  std::vector<PublicKey> ranks_;
  Digest name_{};
  std::int64_t step_ = 0;
};

}  // namespace weft::market
