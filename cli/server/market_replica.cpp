// A rank of a market, which hears the others over gRPC.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fmt/core.h>
#include <thread>

#include "cli/server/parts.h"
#include "cli/terminal.h"

#include "weft/base/file.h"
#include "weft/base/stopwatch.h"
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
  std::string meet;
};

// Where a rank tells the port that it was given.
std::filesystem::path file_of(const ReplicaArguments& arguments,
                              std::size_t rank) {
  return std::filesystem::path(arguments.meet) / fmt::format("rank-{}", rank);
}

bool has_any_port(const std::string& peer) { return peer.ends_with(":0"); }

// The peers, with the ports of those that took any: this one's is told, and
// theirs are waited for.
std::vector<std::string> met_peers(const ReplicaArguments& arguments,
                                   std::uint16_t port) {
  std::vector<std::string> peers = arguments.peers;
  const auto own = static_cast<std::size_t>(arguments.rank);
  if (has_any_port(peers[own])) {
    peers[own].replace(peers[own].size() - 1, 1, std::to_string(port));
    write_file(file_of(arguments, own), peers[own]);
  }
  const Stopwatch waited;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    if (!has_any_port(peers[rank])) continue;
    const auto file = file_of(arguments, rank);
    while (!std::filesystem::exists(file)) {
      if (waited.seconds() > arguments.timeout) {
        throw Error(ErrorCode::kUnavailable, file.string(),
                    "rank {} has not told its port in {:g} s", rank,
                    arguments.timeout);
      }
      // Folders are watched by a call of Linux alone, and not on a share that
      // other machines write to: they meet once, and may look for it.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    peers[rank] = read_text(file);
  }
  return peers;
}

// A file of before would send others to a port that is somebody else's now.
void check_meeting(const ReplicaArguments& arguments) {
  if (arguments.meet.empty()) {
    if (std::ranges::none_of(arguments.peers, has_any_port)) return;
    throw Error(ErrorCode::kInvalidArgument, "--peers",
                "a peer takes any port, and nobody can know which")
        .hint(
            "--meet FOLDER is where it tells the others; or give ports from "
            "1 to 65535");
  }
  const auto file =
      file_of(arguments, static_cast<std::size_t>(arguments.rank));
  if (std::filesystem::exists(file)) {
    throw Error(ErrorCode::kInvalidArgument, file.string(),
                "a rank {} was here before", arguments.rank)
        .hint("give --meet an empty folder");
  }
  std::filesystem::create_directories(arguments.meet);
}

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
  if (colon == std::string::npos || !is_read || port < 0 || port > 65535) {
    throw Error(ErrorCode::kInvalidArgument, "--peers",
                "'{}' is not HOST:PORT with a port from 0 to 65535", own);
  }
  check_meeting(arguments);
  return {.address = own.substr(0, colon),
          .port = static_cast<std::uint16_t>(port),
          .timeout = arguments.timeout};
}

void keep(const ReplicaArguments& arguments) {
  const auto key = market::SigningKey::read(arguments.key);
  Ledger ledger = Ledger::open(arguments.ledger);
  market::Market market(ledger);
  market::GrpcExchange ranks(options_of(arguments),
                             static_cast<int>(arguments.peers.size()));
  ranks.meet(arguments.rank, met_peers(arguments, ranks.port()));
  market::Replica replica(market, key, ranks, [&](const std::string& line) {
    fmt::print("rank {}: {}\n", arguments.rank, printable(line));
    std::fflush(stdout);
  });
  replica.keep(arguments.rounds, arguments.every);
}

}  // namespace

int keep_replica(int argc, char** argv) {
  ReplicaArguments arguments;
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
  app.add_option("--meet", arguments.meet);
  try {
    app.parse(argc, argv);
    keep(arguments);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const Error& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return error.code() == ErrorCode::kInvalidArgument ? 2 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return 1;
  }
}

}  // namespace weft::cli
