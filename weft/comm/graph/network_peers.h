// The other ranks of a graph that runs in parts (runtime/tagged/peers.h), over
// a network.
//
// A run is one operation of all ranks: each listens to each until that one has
// said that its part is over. A value up to kMostInline bytes is one message;
// a larger one is a second message, from and to the tensor's own memory.
//
// What the engine says of silence, disagreement and death holds for runs. A
// rank that computes for longer than the engine's timeout without a word is
// taken for dead by those who wait for it.
//
// Threads: that of the engine.
// Errors: Error(kDataLoss) where a rank sends what does not cross from it to
// this one; what the engine throws passes through.
#pragma once

#include <list>
#include <optional>
#include <vector>

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/engine.h"
#include "weft/runtime/tagged/peers.h"

namespace weft {

class NetworkPeers final : public Peers {
 public:
  static constexpr std::size_t kMostInline = 4096;

  // Both must outlive this.
  NetworkPeers(Communicator& communicator, Engine& engine)
      : communicator_(communicator), engine_(engine) {}
  ~NetworkPeers() override;

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  void begin_run(const FlatGraph& graph) override;
  void send(Parcel parcel) override;
  void poll(double seconds, std::vector<Parcel>& parcels) override;
  void end_run() override;
  void fail(const Error& error) noexcept override;

 private:
  // A message under way, with what it is read from.
  struct Outgoing {
    Outgoing(const Channel& channel, int to, std::vector<std::byte> message)
        : bytes(std::move(message)), transfer(channel.send(to, bytes)) {}
    Outgoing(const Channel& channel, int to, Tensor large);

    std::vector<std::byte> bytes;
    Tensor value;
    Transfer transfer;
  };

  Task<> listen(int from);
  Task<> listen_to_all();
  Parcel parcel_of(int from, std::span<const std::byte> message) const;
  void forget_sent();

  Communicator& communicator_;
  Engine& engine_;
  const FlatGraph* graph_ = nullptr;
  std::optional<Channel> channel_;  // of the run
  Engine::Operation listening_;
  std::list<Outgoing> outgoing_;
  std::vector<Parcel> came_;
};

}  // namespace weft
