#include "weft/market/stage_states.h"

#include <algorithm>
#include <set>

#include "weft/base/file.h"
#include "weft/market/job_data.h"
#include "weft/market/sealed_result.h"
#include "weft/market/sealed_shard.h"
#include "weft/market/training_run.h"

namespace weft::market {
namespace {

constexpr const char* kListFile = "states";

std::filesystem::path state_file(const std::filesystem::path& folder,
                                 std::int64_t stage) {
  return folder / fmt::format("state-{}", stage);
}

// Only its name says what it holds.
Digest put_into(const std::filesystem::path& store, const PublicKey& reader,
                std::string_view plain) {
  const std::filesystem::path made = store / "evidence.new";
  write_result(made, reader, plain);
  const Digest digest = digest_of_file(made);
  std::filesystem::rename(made, stored(store, digest));
  return digest;
}

}  // namespace

Digest digest_of_states(const StateDigests& digests) {
  return digest_of_bytes("weft market states\n" + to_text(digests));
}

std::string to_text(const StateDigests& digests) {
  std::string text;
  for (const Digest& digest : digests) text += to_hex(digest) + "\n";
  return text;
}

StateDigests parse_states(std::string_view text) {
  constexpr std::size_t kLine = 2 * sizeof(Digest) + 1;
  StateDigests digests(text.size() / kLine);
  bool is_list = text.size() % kLine == 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const std::string_view line = text.substr(i * kLine, kLine);
    is_list = is_list && line.back() == '\n' &&
              from_hex(line.substr(0, kLine - 1), digests[i]);
  }
  if (!is_list) {
    throw Error(ErrorCode::kDataLoss, "states", "are no list of digests");
  }
  return digests;
}

StateKeeper::StateKeeper(std::filesystem::path folder, const PublicKey& machine)
    : folder_(std::move(folder)), machine_(machine) {
  std::filesystem::remove_all(folder_);
  create_folders(folder_);
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
}

void StateKeeper::keep(const std::filesystem::path& state) {
  write_result(state_file(folder_, std::ssize(digests_)), machine_,
               file_bytes(state));
  digests_.push_back(digest_of_state(state));
}

Digest StateKeeper::finish() {
  write_result(folder_ / kListFile, machine_, to_text(digests_));
  return digest_of_states(digests_);
}

std::vector<std::int64_t> states_to_check(
    const std::vector<std::int64_t>& stages, std::int64_t of_all,
    std::int64_t best) {
  std::set<std::int64_t> states{of_all};
  // The beginning follows from the recipe.
  for (const std::int64_t stage : stages) {
    if (stage > 1) states.insert(stage - 1);
  }
  if (best > 0) states.insert(best);
  return {states.begin(), states.end()};
}

std::int64_t best_stage(const std::filesystem::path& last, std::int64_t stages,
                        std::int64_t epochs) {
  const std::int64_t epoch = best_epoch_in(last);
  if (epoch < 0 || epoch >= epochs) {
    throw Error(ErrorCode::kDataLoss, "states",
                "the best epoch is {}, of {} that a training measured before "
                "its last one",
                epoch, epochs - 1);
  }
  return stages / epochs * epoch;
}

std::vector<Digest> open_states(const std::filesystem::path& folder,
                                const std::filesystem::path& store,
                                const Platform& platform,
                                const PublicKey& checker,
                                const std::vector<std::int64_t>& stages,
                                std::int64_t epochs) {
  const std::string list = platform.unseal(folder / kListFile);
  const std::int64_t of_all = std::ssize(parse_states(list)) - 1;
  const Scratch scratch(folder / "open");
  const std::filesystem::path last = scratch.folder() / "last.safetensors";
  write_file(last, platform.unseal(state_file(folder, of_all)));
  std::vector<Digest> files{put_into(store, checker, list)};
  for (const std::int64_t state :
       states_to_check(stages, of_all, best_stage(last, of_all, epochs))) {
    files.push_back(
        put_into(store, checker, platform.unseal(state_file(folder, state))));
  }
  return files;
}

}  // namespace weft::market
