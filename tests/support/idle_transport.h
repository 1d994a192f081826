// A network that moves nothing by itself, for transfers that a test moves by
// hand.
#pragma once

#include <string>

#include "weft/comm/transport/transport.h"

namespace weft::test {

class IdleTransport : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  const std::string& host(int) const override { return host_; }
  double now() const override { return 0; }
  std::string_view name() const override { return "idle"; }
  bool can_fold(int, std::size_t) const override { return true; }
  bool poll(double) override { return false; }
  void wake() override {}
  void send_notice(int, const Notice&) noexcept override {}

 protected:
  void start(Transfer&) override {}
  void abandon(Transfer&) noexcept override {}

 private:
  std::string host_ = "here";
};

// A transfer to or from rank 1, and its bytes.
class IdleTransfer {
 public:
  IdleTransfer(Transport& transport, Transfer::Kind kind, Tag tag,
               std::size_t bytes, int priority = 0, bool is_lossy = false)
      : bytes_(bytes),
        transfer_(
            transport, kind, {.peer = 1, .tag = tag, .priority = priority},
            bytes_.data(), bytes_.size(),
            std::make_shared<const EnteredOperation>(
                EnteredOperation{1, 0, "test"}),
            nullptr,
            {is_lossy,
             is_lossy && kind == Transfer::Kind::kReceive ? &came_ : nullptr}) {
  }

  Transfer& get() { return transfer_; }
  std::vector<std::byte>& bytes() { return bytes_; }
  const PartMap& came() const { return came_; }

 private:
  std::vector<std::byte> bytes_;
  PartMap came_;
  Transfer transfer_;
};

}  // namespace weft::test
