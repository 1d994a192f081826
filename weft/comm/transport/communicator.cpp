#include "weft/comm/transport/communicator.h"

#include <algorithm>
#include <bitset>

namespace weft {
namespace {

// A tag is made of: the group, the number of the operation (its low bits: more
// are never in flight), and a hash of what the operation is; these two share
// what is left of the transport's tags. Group 0 is the transport's own, for
// notices.
constexpr int kContextBits = 4;
constexpr int kLeastNumberBits = 10;

// FNV-1a (Fowler, Noll, Vo).
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) {
    hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619u;
  }
  return hash;
}

Tag make_tag(int bits, std::uint32_t context, std::uint32_t number,
             std::uint32_t text_hash) {
  // A large model in small slices has thousands of operations in flight.
  const int number_bits = std::max((bits - kContextBits) / 2, kLeastNumberBits);
  const int hash_bits = bits - kContextBits - number_bits;
  // With the hash in the tag, ranks that enter different operations wait for
  // each other in vain, and find out, rather than take each other's data.
  WEFT_CHECK(hash_bits > 0);
  const std::uint32_t hash = text_hash & ((1u << hash_bits) - 1);
  const std::uint32_t low = number & ((1u << number_bits) - 1);
  return ((context << number_bits | low) << hash_bits) | hash;
}

}  // namespace

NamedOperation::NamedOperation(const OperationInfo& info)
    : text_(info.tensor.empty()
                ? info.operation
                : fmt::format("{} of {}", info.operation, info.tensor)),
      hash_(hash_of(text_)) {}

Channel Channel::among(std::span<const int> positions) const {
  // The part shares the tag, as its messages belong to this operation: between
  // two ranks they arrive in the order in which they are sent.
  Channel part = *this;
  part.members_ = members_.pick(positions);
  part.rank_ = part.members_.position_of(members_[rank_]);
  return part;
}

struct Communicator::Groups {
  std::bitset<1u << kContextBits> taken;
  std::uint32_t last = 1;  // given out

  // Around in a circle, so that a group's last messages are long over when its
  // number is given out again.
  std::uint32_t take() {
    taken.set(0);  // the transport's own
    taken.set(1);  // all ranks
    WEFT_CHECK(!taken.all(), "too many groups of ranks at a time");
    do {
      last = (last + 1) & ((1u << kContextBits) - 1);
    } while (taken.test(last));
    taken.set(last);
    return last;
  }
};

class Communicator::Lease {
 public:
  explicit Lease(std::shared_ptr<Groups> groups)
      : groups_(std::move(groups)), context_(groups_->take()) {}
  ~Lease() { groups_->taken.reset(context_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  std::uint32_t context() const { return context_; }

 private:
  std::shared_ptr<Groups> groups_;
  std::uint32_t context_;
};

Communicator::Communicator(Transport& transport)
    : transport_(&transport),
      members_(transport.size()),
      groups_(std::make_shared<Groups>()),
      rank_(transport.rank()),
      context_(1) {}

Communicator Communicator::split(std::span<const int> positions) {
  Communicator part;
  part.transport_ = transport_;
  part.members_ = members_.pick(positions);
  part.rank_ = part.members_.position_of(transport_->rank());
  part.groups_ = groups_;
  part.lease_ = std::make_shared<const Lease>(groups_);
  part.context_ = part.lease_->context();
  // A group that had this number before has left its operations there.
  transport_->entered().forget(part.context_);
  return part;
}

Channel Communicator::open(const NamedOperation& operation, int priority) {
  auto entry = std::make_shared<const EnteredOperation>(
      EnteredOperation{context_, operations_, operation.text_});
  Channel channel;
  channel.transport_ = transport_;
  channel.members_ = members_;
  channel.rank_ = rank_;
  channel.priority_ = priority;
  // All ranks open operations in one order, and so number them alike.
  channel.tag_ =
      make_tag(transport_->tag_bits(), context_, operations_, operation.hash_);
  channel.operation_ = entry;
  transport_->entered().record(std::move(entry));
  ++operations_;
  return channel;
}

}  // namespace weft
