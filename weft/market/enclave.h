// Runs a job where its data may be read: asks for keys, decrypts, computes,
// counts what was read, and has the platform sign what came out.
//
// A training is a recipe whose data are the job's shards: every fifth example
// is held out to measure on, so that an epoch reads each example once, and the
// recipe must measure once an epoch. Where the gas does not pay for all epochs,
// it runs as many as it pays for. What comes out is a function of the job, the
// shards and the recipe, so that two machines of one kind make the same.
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "weft/market/key_service.h"
#include "weft/market/platform.h"

namespace weft::market {

struct EnclaveOrder {
  std::int64_t number = 0;
  Job job;
  PublicKey worker{};  // whose assignment is answered
  std::vector<Digest> contents;
  std::vector<std::int64_t> examples;  // that the market says each shard has
  std::string recipe;                  // text, that the measurement is of
  // Files by digest: shards, and the model of an inference.
  std::filesystem::path store;
  std::filesystem::path scratch;  // for checkpoints, removed afterwards
  // Where the states of stages are kept, sealed, as long as they may be
  // checked.
  std::filesystem::path states;
};

// Sends a request to whoever has keys, and returns the boxes of answers.
using AskKeys = std::function<std::vector<std::string>(const KeyRequest&,
                                                       const Signature&)>;

struct EnclaveResult {
  Report report;
  Signature signature{};
  // What the payer gets: a checkpoint, predictions, a metric, values.
  std::string outputs;
  std::string failure;  // why the status is kError
};

// Throws Error(kInvalidArgument) for an order whose measurement is not the
// platform's: such a job must be declined. What goes wrong in the job itself is
// reported as kError.
EnclaveResult run_order(const EnclaveOrder& order, const Platform& platform,
                        const AskKeys& ask);

// Where a file of the store lies.
std::filesystem::path stored(const std::filesystem::path& store,
                             const Digest& digest);

// Throws Error(kInvalidArgument) for a recipe that cannot count what it reads,
// with what would do instead.
void check_recipe(const std::string& recipe);

}  // namespace weft::market
