// A worker of a market: runs the jobs that it is given, each in a process of
// its own, and hands in what the enclave there says.
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weft/market/enclave.h"
#include "weft/market/market.h"

namespace weft::market {

struct WorkerSetting {
  std::string ledger;             // location
  std::filesystem::path machine;  // file of the machine's key
  std::filesystem::path store;    // shards, recipes and models by digest
  std::vector<std::string> keys;  // sockets of key services
  std::filesystem::path results;  // where what jobs made is put, sealed
};

// What jobs made, in the results.
std::filesystem::path result_path(const std::filesystem::path& results,
                                  std::int64_t job);

// What a worker must do now.
struct Duty {
  enum class Kind {
    kNone,   // or wait for others
    kRun,    // its job
    kOpen,   // the states of the job that it has run, to the checker
    kCheck,  // another's training
  } kind = Kind::kNone;
  std::int64_t job = 0;
};
// Throws Error(kInvalidArgument) for one who is no worker.
Duty duty_of(const State& state, const PublicKey& worker);

// What the market says of a job, with its recipe from the store.
EnclaveOrder order_of(const State& state, std::int64_t job,
                      const PublicKey& worker, const WorkerSetting& setting);

// What an enclave has its worker send.
struct Said {
  std::string what;  // the transaction
  Fields fields;
};

// Does the worker's duty in this process, as its enclave: writes what the
// worker is to send, and for a job the sealed result. Throws as run_order() and
// check_training(). Afterwards nobody may look into the process, where the
// system can see to it.
void run_enclave(const WorkerSetting& setting, const PublicKey& worker,
                 std::int64_t job);
// What run_enclave() has left.
Said read_said(const std::filesystem::path& results, std::int64_t job);

// Looks once for a duty of the worker's, does it in a process of its own and
// sends what came of it, or declines where this machine has not what it takes.
// Says which job that was of; 0: none. `told` hears what happens.
std::int64_t work_once(Market& market, const SigningKey& worker,
                       const WorkerSetting& setting,
                       const std::function<void(const std::string&)>& told);

}  // namespace weft::market
