// The other ranks of a graph that runs in parts (runtime/tagged/peers.h), over
// a network.
//
// A run is one operation of all ranks: each listens to each until that one has
// said that its part is over. A value up to kMostInline bytes is one message;
// a larger one is a second message, from and to the tensor's own memory.
//
// Values go as they are there; where places are set, what has the least goes
// first of what waits for one rank, and few bytes of it are under way.
//
// What the engine says of silence, disagreement and death holds for runs. A
// rank that computes for longer than the engine's timeout without a word is
// taken for dead by those who wait for it.
//
// Threads: that of the engine.
// Errors: Error(kDataLoss) where a rank sends what does not cross from it to
// this one; what the engine throws passes through.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <vector>

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/credit_queue.h"
#include "weft/comm/transport/engine.h"
#include "weft/runtime/tagged/peers.h"

namespace weft {

// What a rank did in a run.
struct PeerTraffic {
  std::int64_t values = 0;  // that came
  double bytes = 0;         // of these
  double seconds = 0;       // until its own part was over
};

class NetworkPeers final : public Peers {
 public:
  static constexpr std::size_t kMostInline = 4096;
  // Where places are set: bytes under way to a rank, or one value. What a
  // network holds already can no longer be overtaken, and one that holds little
  // stands idle between two looks at it.
  static constexpr std::int64_t kUnderWay = 1 << 20;

  // Both must outlive this.
  NetworkPeers(Communicator& communicator, Engine& engine)
      : communicator_(communicator), engine_(engine) {}
  ~NetworkPeers() override;

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  // Between runs. One for each crossing, or none.
  void set_places(std::vector<std::size_t> places) {
    places_ = std::move(places);
  }
  // Between runs: memory for arguments that other ranks send, into which they
  // are written as they come; undefined for those that get new memory. It must
  // live as long as runs.
  void set_rooms(std::vector<Tensor> rooms) { rooms_ = std::move(rooms); }
  // It is that of the last run.
  const PeerTraffic& traffic() const { return traffic_; }

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
  // One that waits for its turn, or is under way after it.
  struct Queued {
    std::vector<std::byte> header;
    Tensor value;  // it follows the header; undefined: nothing does
    Engine::Operation sending;
  };

  Task<> listen(int from);
  Task<> listen_to_all();
  Parcel parcel_of(int from, std::span<const std::byte> message) const;
  Tensor room_for(const Crossing& crossing) const;
  void hand_over();
  void queue(Parcel parcel);
  void queue(int to, std::size_t place, std::vector<std::byte> header,
             Tensor value = {});
  void forget_sent();

  Communicator& communicator_;
  Engine& engine_;
  const FlatGraph* graph_ = nullptr;
  std::optional<Channel> channel_;  // of the run
  Engine::Operation listening_;
  std::list<Outgoing> outgoing_;
  std::vector<std::size_t> places_;  // by crossing
  std::deque<CreditQueue> turns_;    // by rank
  std::vector<Parcel> unsent_;       // arguments, before the first look
  std::list<Queued> queued_;
  std::vector<Tensor> rooms_;  // by argument
  PeerTraffic traffic_;
  double began_ = 0;
  std::vector<Parcel> came_;
};

}  // namespace weft
