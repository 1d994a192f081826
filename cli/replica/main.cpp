// weft-replica, which `weft market replica --peers` runs: a rank that hears the
// others over gRPC.
#include <CLI/CLI.hpp>
#include <charconv>
#include <fmt/core.h>

#include "cli/terminal.h"

#include "weft/market/grpc/grpc_exchange.h"
#include "weft/market/replica.h"

namespace weft::cli {
namespace {

struct ReplicaArguments {
  std::string ledger;
  std::string key;
  std::vector<std::string> peers;
  int rank = 0;
  std::int64_t rounds = 0;
  double every = 1;
  double timeout = 60;
};

market::GrpcExchangeOptions options_of(const ReplicaArguments& arguments) {
  if (arguments.rank >= std::ssize(arguments.peers)) {
    throw Error(ErrorCode::kInvalidArgument, "--rank",
                "{} is none of {} peers, which are counted from 0",
                arguments.rank, arguments.peers.size());
  }
  const std::string& own =
      arguments.peers[static_cast<std::size_t>(arguments.rank)];
  const auto colon = own.rfind(':');
  // The whole text must be read: what is cut short would be another port.
  int port = 0;
  const char* const end = own.data() + own.size();
  const auto read = std::from_chars(own.data() + colon + 1, end, port);
  const bool is_read = read.ec == std::errc() && read.ptr == end;
  if (colon == std::string::npos || !is_read || port < 1 || port > 65535) {
    throw Error(ErrorCode::kInvalidArgument, "--peers",
                "'{}' is not HOST:PORT with a port from 1 to 65535", own);
  }
  return {.address = own.substr(0, colon),
          .port = static_cast<std::uint16_t>(port),
          .timeout = arguments.timeout};
}

void run(const ReplicaArguments& arguments) {
  const auto key = market::SigningKey::read(arguments.key);
  Ledger ledger = Ledger::open(arguments.ledger);
  market::Market market(ledger);
  market::GrpcExchange ranks(options_of(arguments),
                             static_cast<int>(arguments.peers.size()));
  ranks.meet(arguments.rank, arguments.peers);
  market::Replica replica(market, key, ranks, [&](const std::string& line) {
    fmt::print("rank {}: {}\n", arguments.rank, printable(line));
    std::fflush(stdout);
  });
  replica.keep(arguments.rounds, arguments.every);
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) {
  weft::cli::ReplicaArguments arguments;
  CLI::App app("Keeps a market together with other ranks, over gRPC");
  app.add_option("LEDGER", arguments.ledger)->required();
  app.add_option("--key", arguments.key)->required();
  app.add_option("--peers", arguments.peers)
      ->required()
      ->allow_extra_args(false);
  app.add_option("--rank", arguments.rank)->required();
  app.add_option("--rounds", arguments.rounds);
  app.add_option("--every", arguments.every);
  app.add_option("--timeout", arguments.timeout);
  try {
    app.parse(argc, argv);
    weft::cli::run(arguments);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const weft::Error& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return error.code() == weft::ErrorCode::kInvalidArgument ? 2 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return 1;
  }
}
