// Texts over a transport: threads, MPI, TCP or a simulated network.
//
// Threads: as the transport.
#pragma once

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/engine.h"
#include "weft/market/text_exchange.h"

namespace weft::market {

class RankExchange final : public TextExchange {
 public:
  // Both outlive this.
  RankExchange(Engine& engine, Communicator& communicator)
      : engine_(engine), communicator_(communicator) {}

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  std::vector<std::string> exchange(const std::string& phase,
                                    const std::string& text) override;

 private:
  Engine& engine_;
  Communicator& communicator_;
};

}  // namespace weft::market
