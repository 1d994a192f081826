// How ranks hear each other: step by step, each says one text to all.
//
// It knows nothing of who may say what: a conversation (conversation.h) signs
// what goes through it.
//
// Threads: one thread uses an object.
// Errors:  Error(kUnavailable) naming the ranks that are gone; Error(kDataLoss)
//          for a text of more than kMostMessageBytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::market {

inline constexpr std::uint64_t kMostMessageBytes = std::uint64_t{256} << 20;

class TextExchange {
 public:
  virtual ~TextExchange() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Collective: what each rank says in this phase, by rank.
  virtual std::vector<std::string> exchange(const std::string& phase,
                                            const std::string& text) = 0;
};

}  // namespace weft::market
