// weft market replica: one of several ranks that keep a market together.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/program_beside.h"
#include "cli/ranks.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/market/rank_exchange.h"
#include "weft/market/replica.h"

namespace weft::cli {
namespace {

struct MarketReplicaArguments {
  std::string ledger;
  std::string key;
  std::int64_t rounds = 0;
  double every = 1;
  double timeout = 60;
  std::vector<std::string> peers;
  int rank = -1;
  std::string meet;
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
  market::RankExchange ranks(engine, all);
  market::Replica replica(market, key, ranks, [rank](const std::string& line) {
    fmt::print("rank {}: {}\n", rank, printable(line));
    std::fflush(stdout);
  });
  replica.keep(arguments.rounds, arguments.every);
}

// gRPC's part is a program of its own beside this one, as its packages are
// many.
[[noreturn]] void run_over_grpc(const MarketReplicaArguments& arguments) {
  std::vector<std::string> words{
      "replica",   of_rank(arguments.ledger, arguments.rank),
      "--key",     of_rank(arguments.key, arguments.rank),
      "--rank",    std::to_string(arguments.rank),
      "--rounds",  std::to_string(arguments.rounds),
      "--every",   fmt::format("{}", arguments.every),
      "--timeout", fmt::format("{}", arguments.timeout)};
  if (!arguments.meet.empty()) {
    words.insert(words.end(), {"--meet", arguments.meet});
  }
  for (const std::string& peer : arguments.peers) {
    words.insert(words.end(), {"--peers", peer});
  }
  become("weft-serve", std::move(words),
         "bin/weft serve builds it, with the packages that it needs");
}

void run_replicas(const MarketReplicaArguments& arguments) {
  if (!arguments.peers.empty()) run_over_grpc(arguments);
  const RankChoice choice = choose_ranks(arguments.ranks);
  if (choice.is_alone()) {
    throw Error(ErrorCode::kInvalidArgument, "market replica",
                "one rank alone keeps no market together with others")
        .hint(
            "mpirun starts several, --transport tcp(…) or --peers names the "
            "others, and --workers N are threads of this process");
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
  auto* peers =
      verb.add_option("--peers", arguments->peers,
                      "over gRPC: where the ranks are, this one among them, in "
                      "the same order at each; one whose port is 0 takes any, "
                      "and tells it in --meet")
          ->type_name("HOST:PORT")
          ->delimiter(',')
          ->allow_extra_args(false);
  auto* rank = verb.add_option("--rank", arguments->rank,
                               "which of the peers this is, from 0")
                   ->check(CLI::NonNegativeNumber)
                   ->needs(peers);
  peers->needs(rank);
  verb.add_option("--meet", arguments->meet,
                  "an empty folder in which peers tell which port they took")
      ->type_name("FOLDER")
      ->needs(peers);
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
