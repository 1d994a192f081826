// A simulated network as one rank sees it.
//
// Threads: caller synchronises; wake() from any.
#pragma once

#include <atomic>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/comm/transport/sim_flow.h"
#include "weft/comm/transport/sim_network.h"

namespace weft {

class SimEndpoint : public Transport {
 public:
  SimEndpoint(SimNetwork& network, int rank);

  int rank() const override { return rank_; }
  int size() const override { return network_.topology().ranks(); }
  std::string_view name() const override { return "sim"; }
  double now() const override { return network_.simulator().now(); }
  bool carries_payload() const override {
    return network_.options().carries_payload;
  }
  // What is sent lies in this process, and is added from where it lies.
  bool can_fold(int, std::size_t) const override { return carries_payload(); }
  bool is_simulated() const override { return true; }
  bool shares_memory() const override { return true; }
  const std::string& host(int rank) const override;
  std::unique_ptr<AsyncEngine> start_engine(
      const EngineOptions& options) override;

  bool poll(double seconds) override;
  void wake() override { is_woken_ = true; }
  void send_notice(int to, const Notice& notice) noexcept override;
  void set_alarm(double seconds, std::shared_ptr<Alarm> alarm) override;

  // --- What the network brings --------------------------------------------

  void sent(SimMessage& message);
  void arrived(SimMessage& message) {
    message.has_arrived = true;
    end_arrived(flow_of(message.from, message.tag));
  }
  void told(Notice notice) {
    notice_came(std::move(notice));
    has_news_ = true;
  }
  void resume(std::coroutine_handle<> paused) {
    resume_later(paused);
    has_news_ = true;
  }

  void rang(std::shared_ptr<Alarm> alarm) {
    ring(std::move(alarm));
    has_news_ = true;
  }
  std::span<const SimTraffic> traffic() const { return traffic_; }
  void count_loss(int level) {
    ++traffic_[static_cast<std::size_t>(level)].lost;
  }

 protected:
  void start(Transfer& transfer) override;
  void abandon(Transfer& transfer) noexcept override;
  void start_pause(double seconds, std::coroutine_handle<> waiting) override;

 private:
  void send(Transfer& transfer);
  void receive(Transfer& transfer);
  // The payload goes to its place as soon as both sides are known, wherever the
  // message is on its way: its receiver looks at it when the transfer is over.
  void deliver(SimMessage& message);
  // The sender's buffer is its own again.
  void release_sender(SimMessage& message);
  void drop_lost(const Transfer& receiver, const PartMap& came);
  void end_arrived(std::uint64_t key);
  void over(Transfer& transfer, std::size_t bytes) {
    finish(transfer, bytes);
    has_news_ = true;
  }

  SimNetwork& network_;
  const int rank_;
  const std::string own_name_;
  std::unordered_map<std::uint64_t, SimFlow> flows_;  // to this rank
  std::vector<SimTraffic> traffic_;                   // by level
  bool has_news_ = false;                             // since the last poll()
  std::atomic<bool> is_woken_ = false;
};

}  // namespace weft
