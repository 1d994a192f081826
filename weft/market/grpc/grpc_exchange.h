// Texts over gRPC: each rank serves at an address, and calls the others.
//
//   GrpcExchange mine({.address = "127.0.0.1"}, 3);
//   mine.meet(0, {"127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"});
//   Replica replica(market, key, mine, …);
//
// A call is repeated until the other rank is there or the time is over, so that
// ranks may start in any order. Calls are neither encrypted nor signed here:
// the envelopes of a conversation are signed. Whoever reaches the port can so
// end an exchange by speaking in a rank's place, and cannot have a rank believe
// it.
//
// Threads: one thread exchanges; calls of others arrive on gRPC's.
#pragma once

#include <memory>

#include "weft/market/text_exchange.h"

namespace weft::market {

struct GrpcExchangeOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any that is free
  double timeout = 60;     // seconds of silence after which a rank is lost
};

class GrpcExchange final : public TextExchange {
 public:
  // Serves from here on; `size` ranks. Throws Error(kUnavailable) for an
  // address that cannot be had.
  GrpcExchange(const GrpcExchangeOptions& options, int size);
  ~GrpcExchange() override;

  std::uint16_t port() const;
  // Where the ranks are, HOST:PORT each. Comes before the first exchange.
  void meet(int rank, const std::vector<std::string>& addresses);

  int rank() const override;
  int size() const override;
  std::vector<std::string> exchange(const std::string& phase,
                                    const std::string& text) override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::market
