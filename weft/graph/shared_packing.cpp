#include "weft/graph/shared_packing.h"

#include <map>
#include <mutex>
#include <utility>

namespace weft {
namespace {

// Whoever holds what is packed holds the source with it: so an address names
// the same bytes as long as its entry is alive.
struct Packed {
  Tensor bytes;
  Tensor source;
};

class Packings {
 public:
  using Key = std::pair<const void*, std::string>;

  std::shared_ptr<const Packed> find_or_make(
      Key key, const Tensor& source, const std::function<Tensor()>& make) {
    const std::lock_guard lock(mutex_);
    drop_expired();
    auto& entry = held_[std::move(key)];
    auto packed = entry.lock();
    if (packed == nullptr) {
      packed = std::make_shared<const Packed>(Packed{make(), source});
      entry = packed;
    }
    return packed;
  }

 private:
  // Once there are twice as many as were alive last, so that asking stays cheap
  // however many are held.
  void drop_expired() {
    if (held_.size() < most_) return;
    std::erase_if(held_,
                  [](const auto& entry) { return entry.second.expired(); });
    most_ = 2 * held_.size() + 64;
  }

  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const Packed>> held_;
  std::size_t most_ = 64;
};

}  // namespace

std::shared_ptr<const Tensor> shared_packing(
    const Tensor& known, std::string layout,
    const std::function<Tensor()>& make) {
  static Packings packings;
  const auto packed =
      packings.find_or_make({known.raw(), std::move(layout)}, known, make);
  return {packed, &packed->bytes};
}

}  // namespace weft
