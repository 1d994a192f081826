// The states of a training that its worker commits itself to, and opens to who
// checks it.
//
// What is signed and reported is the digest of the list of their digests. The
// list and the states lie in a folder of the worker's, sealed for its machine,
// until the job is over; what a checker needs is sealed anew for the checker's
// machine and put into the store.
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>
#include <vector>

#include "weft/market/platform.h"

namespace weft::market {

// From the beginning to the end: digests_of_states[i] is behind stage i.
using StateDigests = std::vector<Digest>;

Digest digest_of_states(const StateDigests& digests);
std::string to_text(const StateDigests& digests);
// Throws Error(kDataLoss).
StateDigests parse_states(std::string_view text);

class StateKeeper {
 public:
  // Empties the folder, which only this account may read.
  StateKeeper(std::filesystem::path folder, const PublicKey& machine);

  // The next state, a checkpoint.
  void keep(const std::filesystem::path& state);
  const StateDigests& digests() const { return digests_; }
  // Keeps the list, and says what is reported.
  Digest finish();

 private:
  std::filesystem::path folder_;
  PublicKey machine_;
  StateDigests digests_;
};

// The states that checking these stages takes, in rising order: what each goes
// on from, the last one, and the best if that is another (finish_job()).
std::vector<std::int64_t> states_to_check(
    const std::vector<std::int64_t>& stages, std::int64_t of_all,
    std::int64_t best);
// The state at the end of the best epoch; 0: none was measured yet.
std::int64_t best_stage(const std::filesystem::path& last, std::int64_t stages,
                        std::int64_t epochs);

// Unseals what a checker of these stages needs, seals it for the checker's
// machine and puts it into the store. Returns the files' digests, that of the
// list first.
std::vector<Digest> open_states(const std::filesystem::path& folder,
                                const std::filesystem::path& store,
                                const Platform& platform,
                                const PublicKey& checker,
                                const std::vector<std::int64_t>& stages,
                                std::int64_t epochs);

}  // namespace weft::market
