// weft market replica: one of several ranks that keep a market together.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/core.h>
#include <thread>

#include "cli/ranks.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/market/replica.h"

namespace weft::cli {
namespace {

struct MarketReplicaArguments {
  std::string ledger;
  std::string key;
  std::int64_t rounds = 0;
  double every = 1;
  double timeout = 60;
  RankArguments ranks;
};

// "{rank}" in a name stands for the number of the rank.
std::string of_rank(std::string text, int rank) {
  constexpr std::string_view kMark = "{rank}";
  for (auto at = text.find(kMark); at != std::string::npos;
       at = text.find(kMark)) {
    text.replace(at, kMark.size(), std::to_string(rank));
  }
  return text;
}

void keep(const MarketReplicaArguments& arguments, Transport& transport) {
  const int rank = transport.rank();
  const auto key = market::SigningKey::read(of_rank(arguments.key, rank));
  Ledger ledger = Ledger::open(of_rank(arguments.ledger, rank));
  market::Market market(ledger);
  Engine engine(transport, {.timeout = arguments.timeout});
  Communicator all(transport);
  market::Replica replica(market, key, engine, all,
                          [rank](const std::string& line) {
                            fmt::print("rank {}: {}\n", rank, printable(line));
                            std::fflush(stdout);
                          });
  for (std::int64_t i = 0; arguments.rounds == 0 || i < arguments.rounds; ++i) {
    // Rounds in which nothing happens wait for the next.
    if (!replica.step() && arguments.rounds == 0) {
      std::this_thread::sleep_for(
          std::chrono::duration<double>(arguments.every));
    }
  }
}

void run_replicas(const MarketReplicaArguments& arguments) {
  const RankChoice choice = choose_ranks(arguments.ranks);
  if (choice.is_alone()) {
    throw Error(ErrorCode::kInvalidArgument, "market replica",
                "one rank alone keeps no market together with others")
        .hint(
            "mpirun starts several, --transport tcp(…) names the others, and "
            "--workers N are threads of this process");
  }
  const auto ranks = open_ranks(choice);
  ranks->run([&](Transport& transport) { keep(arguments, transport); });
}

void add_market_replica(CLI::App& verb) {
  auto arguments = std::make_shared<MarketReplicaArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "this rank's own; {rank} in it stands for the rank's number")
      ->required();
  verb.add_option("--key", arguments->key,
                  "a file with this rank's validator key; {rank} likewise")
      ->required()
      ->type_name("FILE");
  verb.add_option("--rounds", arguments->rounds,
                  "that are run, without a rest; 0: until it is ended")
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--every", arguments->every,
                  "seconds between rounds in which nothing happens")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--timeout", arguments->timeout,
                  "seconds of silence after which a rank is lost")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_rank_options(verb, arguments->ranks,
                   "so many ranks, threads of this process; mpirun and srun "
                   "start them as processes");
  verb.callback([arguments] { run_replicas(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_replica(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market replica",
             .summary = "Keep a market together with other ranks",
             .order = 85,
             .add = cli::add_market_replica});
}

}  // namespace weft
