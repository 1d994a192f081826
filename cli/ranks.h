// Which ranks a command is: --workers, --transport, or what a launcher says.
#pragma once

#include <memory>
#include <string>

#include "weft/comm/transport/transport_def.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct RankArguments {
  int workers = 0;        // threads of this process; 0: not said
  std::string transport;  // a call of the registry's; empty: not said
};

// Declares both; `workers` says what several workers do.
void add_rank_options(CLI::App& verb, RankArguments& arguments,
                      const std::string& workers);

// What they come to.
struct RankChoice {
  Call<TransportDef> call;   // of null: one worker alone
  bool is_launched = false;  // a launcher has started this process as a rank

  bool is_alone() const { return call.def == nullptr; }
  // All workers, if there are several, are of this process.
  bool is_one_process() const { return is_alone() || call.def->is_one_process; }
};

// Throws Error(kInvalidArgument) for two answers to one question.
RankChoice choose_ranks(const RankArguments& arguments);
// Not for one worker alone.
std::unique_ptr<LocalRanks> open_ranks(const RankChoice& choice);

// How many threads one of them computes with: its share of those that this
// process has, or of the machine's where they were not `given`.
int threads_of_rank(const LocalRanks& ranks, const Transport& transport,
                    int of_process, bool given);

// Whether `what` names the transports, or one of them.
bool is_transport_topic(const std::string& what);
// What they are, whom they trust, and their options.
void print_transport_help(const std::string& what, bool as_json);

}  // namespace weft::cli
