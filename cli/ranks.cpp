#include "cli/ranks.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/recipe_help.h"
#include "cli/terminal.h"

namespace weft::cli {
namespace {

constexpr const char* kAllTransports = "transport";

void say_on_terminal(const std::string& text) {
  fmt::print(stderr, "weft: {}\n", printable(text));
}

Json json_of(const TransportDef& def) {
  Json json = entry_json(
      {def.name, def.summary, def.options, transport_registry().kind()});
  json["trust"] = def.trust;
  return json;
}

}  // namespace

void add_rank_options(CLI::App& verb, RankArguments& arguments,
                      const std::string& workers) {
  verb.add_option("--workers", arguments.workers, workers)
      ->check(CLI::Range(1, 1024));
  verb.add_option("--transport", arguments.transport,
                  "be a rank among others: \"tcp(10.0.0.1:7070, rank=2, "
                  "ranks=4)\", where rank 0 listens at that address, in a "
                  "process for each; `weft train --help transport` lists all, "
                  "with whom they trust")
      ->type_name("NAME(OPTIONS)");
}

RankChoice choose_ranks(const RankArguments& arguments) {
  const bool is_named = !arguments.transport.empty();
  if (is_named && arguments.workers > 0) {
    throw Error(ErrorCode::kInvalidArgument, "--workers",
                "--transport says what the workers are")
        .hint(fmt::format("--transport \"thread({})\" is the same as --workers "
                          "{}",
                          arguments.workers, arguments.workers));
  }
  if (is_named) {
    return {
        parse_call(arguments.transport, transport_registry(), "--transport")};
  }
  const TransportDef* const launched = launched_transport();
  if (launched != nullptr && arguments.workers > 0) {
    throw Error(ErrorCode::kInvalidArgument, "--workers",
                "this is one of several processes that a launcher started")
        .hint("leave out --workers: each process is a worker");
  }
  if (launched != nullptr) {
    return {{launched, complete(launched->options, {}, launched->name)}, true};
  }
  if (arguments.workers == 0) return {};
  return {parse_call(fmt::format("thread({})", arguments.workers),
                     transport_registry(), "--workers")};
}

std::unique_ptr<LocalRanks> open_ranks(const RankChoice& choice) {
  return open_transport(choice.call, say_on_terminal);
}

int threads_of_rank(const LocalRanks& ranks, const Transport& transport,
                    int of_process, bool given) {
  // Those of one process share what it has, given or not.
  if (ranks.count() > 1) return std::max(1, of_process / ranks.count());
  if (given) return of_process;
  // Processes on one host share its cores.
  int here = 1;
  for (int rank = 0; rank < transport.size(); ++rank) {
    const bool is_other = rank != transport.rank();
    if (is_other && transport.host(rank) == transport.host(transport.rank())) {
      ++here;
    }
  }
  return std::max(1, of_process / here);
}

bool is_transport_topic(const std::string& what) {
  return what == kAllTransports || transport_registry().find(what) != nullptr;
}

void print_transport_help(const std::string& what, bool as_json) {
  Json all = Json::array();
  for (const TransportDef& def : transport_registry().all()) {
    if (what != kAllTransports && what != def.name) continue;
    all.push_back(json_of(def));
    if (as_json) continue;
    fmt::print("{}: {}\n    {}\n", def.name, def.summary, def.trust);
    print_options({def.name, def.summary, def.options}, 4);
  }
  if (as_json) print_json(all);
}

}  // namespace weft::cli
