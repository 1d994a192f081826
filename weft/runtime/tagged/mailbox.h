// Where what other ranks send meets what waits for it: whichever is first waits
// for the other, under the tag of the activation and the number of the
// crossing.
//
// Threads: caller synchronises.
#pragma once

#include <optional>
#include <unordered_map>

#include "weft/runtime/tagged/peers.h"
#include "weft/runtime/tagged/pool.h"

namespace weft {

class Mailbox {
 public:
  // A Receive of `item` is due: its value, if it has come; else it waits.
  std::optional<Tensor> expect(const ActivationTag& activation, int crossing,
                               Item item);
  // What waits for a value that has come; else the value waits.
  std::optional<Item> deliver(Parcel& parcel);

  // A Receive that waits, and its crossing.
  struct Waiting {
    Item item;
    int crossing;
    std::uint64_t since;
  };
  bool is_waiting() const { return !waiting_.empty(); }
  // The one that began last, deepest in the run.
  Waiting newest() const;
  // Drops what came and what waits, as after a failed run.
  void clear();

 private:
  struct Key {
    ActivationTag activation;
    int crossing;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    // Tags are mixed well already, but for that of the entry.
    std::size_t operator()(const Key& key) const {
      const std::uint64_t tag =
          key.activation[0] | std::uint64_t{key.activation[1]} << 32;
      return tag ^
             static_cast<std::uint64_t>(key.crossing) * 0x9E3779B97F4A7C15u;
    }
  };

  std::unordered_map<Key, Waiting, Hash> waiting_;
  std::unordered_map<Key, Tensor, Hash> came_;
  std::uint64_t ticks_ = 0;
};

}  // namespace weft
