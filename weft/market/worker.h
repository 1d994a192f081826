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

// Names of files in the results, by job.
std::filesystem::path report_path(const std::filesystem::path& results,
                                  std::int64_t job);
std::filesystem::path result_path(const std::filesystem::path& results,
                                  std::int64_t job);

// What the market says of a job, with its recipe from the store.
EnclaveOrder order_of(const State& state, std::int64_t job,
                      const PublicKey& worker, const WorkerSetting& setting);

// Runs the job in this process, as its enclave: writes the sealed result, and
// the fields of a report for the worker to send. Throws as run_order().
// Afterwards nobody may look into the process, where the system can see to it.
void run_enclave(const WorkerSetting& setting, const PublicKey& worker,
                 std::int64_t job);
// The report that run_enclave() has left.
Fields read_report(const std::filesystem::path& results, std::int64_t job);

// Looks once for a job of the worker's, runs it in a process of its own and
// reports, or declines it where this machine has not what it takes. Says which
// job that was; 0: none. `told` hears what happens.
std::int64_t work_once(Market& market, const SigningKey& worker,
                       const WorkerSetting& setting,
                       const std::function<void(const std::string&)>& told);

}  // namespace weft::market
