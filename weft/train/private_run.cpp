#include "weft/train/private_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/ranges.h>
#include <future>
#include <map>

#include "weft/base/file.h"
#include "weft/base/libraries/blake2b.h"
#include "weft/base/refusal.h"
#include "weft/budget/budget_ledger.h"
#include "weft/train/sync/agreement.h"
#include "weft/train/sync/gather.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/private_policy.h"

namespace weft {
namespace {

constexpr const char* kOneByOne = "one by one";
constexpr const char* kNotTheSame =
    "a step that is done again would not be the same, and under the same noise "
    "tell what that hides";
constexpr const char* kTrainAnew =
    "train anew, which gives away as much once more";

// What decides neither what a step computes nor how many there are.
bool may_change(std::string_view key) {
  constexpr std::array<std::string_view, 3> kSections{"log.", "trace.",
                                                      "tensorboard."};
  return key == "privacy.wait" || key == "sync.timeout" ||
         std::ranges::any_of(kSections, [&](std::string_view section) {
           return key.starts_with(section);
         });
}

SecretKey key_of_run(const std::filesystem::path& file, bool is_own) {
  const auto key = read_key(file);
  if (key) return *key;
  throw Error(ErrorCode::kUnavailable, file.string(),
              "the key of this run is gone: it has ended, or was not private{}",
              is_own ? ", or had another number of workers" : "")
      .hint(kTrainAnew);
}

bool is_key(const std::filesystem::path& file) {
  return file.extension() == ".key" &&
         file.filename().string().starts_with("privacy");
}

// Those of an earlier run, which is begun anew: of however many workers.
void remove_keys(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (is_key(entry.path())) found.push_back(entry.path());
  }
  for (const auto& file : found) std::filesystem::remove(file);
}

// Gives everyone the bytes of the first worker. Collective.
void share_bytes(WorkerGroup& group, const std::string& what,
                 std::span<std::uint8_t> bytes) {
  const Tensor tensor = Tensor::zeros(
      {DType::kU8, Shape{static_cast<std::int64_t>(bytes.size())}});
  std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  group.run([&] {
    return broadcast_tensors(group.communicator().open({"broadcast", what}), 0,
                             {{what, tensor}});
  });
  std::memcpy(bytes.data(), tensor.raw(), bytes.size());
}

// What does not compose with private training.
std::optional<Refusal> declined(const Recipe& recipe, bool has_workers,
                                const GivenObjects& given) {
  if (!recipe.simulate.network.empty()) {
    return Refusal{"simulate.network",
                   "its workers take batches of data that were opened for all "
                   "of them, in an order",
                   "workers that are there: --workers"};
  }
  if (given.data != nullptr || recipe.data.source != "loader") {
    return Refusal{given.data != nullptr ? "data of a program"
                                         : in_quotes(recipe.data.source),
                   "examples must join a batch by chance, each on its own",
                   "data that a recipe names, read by the loader"};
  }
  if (recipe.train.drop_last) {
    return Refusal{"train.drop_last", "its batches are not cut from an order",
                   "leave it out"};
  }
  return has_workers ? private_workers_decline(recipe) : std::nullopt;
}

// The parts between commas.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty()) words.emplace_back(word);
    begin = end + 1;
  }
  return words;
}

const Dataset& examples_of(const TrainingData& data) {
  const auto* set = dynamic_cast<const Dataset*>(&data.description());
  WEFT_CHECK(set != nullptr, "the loader reads a data set");
  return *set;
}

}  // namespace

PrivateRun::PrivateRun(const Recipe& recipe, WorkerGroup* group,
                       const GivenObjects& given, bool is_resumed)
    : recipe_(recipe.privacy),
      group_(group),
      roles_(group_ != nullptr ? group_->size() : 1,
             group_ != nullptr ? recipe.sync.servers : 0),
      has_own_means_(!policy_of(recipe.sync).def->sends_gradients),
      expected_(recipe.train.batch),
      timeout_(recipe.sync.timeout),
      is_resumed_(is_resumed) {
  if (const auto refusal = declined(recipe, group_ != nullptr, given)) {
    throw refused("privacy", "private training", *refusal);
  }
  if (is_resumed && is_own() && !policy_of(recipe.sync).def->is_repeatable) {
    throw refused("--resume", "private training",
                  {"sync.policy " + in_quotes(recipe.sync.policy), kNotTheSame,
                   kTrainAnew});
  }
  if (has_key()) {
    key_ = is_resumed ? key_of_run(key_file(recipe.log.folder), is_own())
                      : drawn_key();
  }
  // Noise is drawn from the first step on, and a checkpoint comes later.
  const auto began = std::filesystem::path(recipe.log.folder) / "recipe.toml";
  if (is_resumed && std::filesystem::exists(began)) {
    require_same(recipe, read_text(began), {});
  }
  if (group_ != nullptr && !is_own()) {
    share_bytes(*group_, "key of the run", key_.bytes);
  }
}

void PrivateRun::require_same(const Recipe& recipe, const std::string& began,
                              const std::vector<std::string>& changed) const {
  std::map<std::string, std::string> before;
  for (auto& [key, value] :
       recipe_items(parse_recipe(began, "recipe of the run"), is_resumed_)) {
    before[key] = std::move(value);
  }
  for (const auto& [key, value] : recipe_items(recipe, is_resumed_)) {
    if (may_change(key) || before[key] == value) continue;
    throw refused(
        "--resume", "private training",
        {fmt::format("{} = {}", key, value),
         fmt::format("it began with {}: epsilon is that of steps which are all "
                     "alike, and {}",
                     before[key].empty() ? "none" : before[key], kNotTheSame),
         "recipe.toml in the run's folder is what it began with; or " +
             std::string(kTrainAnew)});
  }
  if (changed.empty()) return;
  throw refused(
      "--resume", "private training",
      {"other data",
       fmt::format("{} differ, and {}", fmt::join(changed, ", "), kNotTheSame),
       "the data that it began with; or " + std::string(kTrainAnew)});
}

bool PrivateRun::is_own() const {
  return group_ != nullptr && recipe_.noise_on != kNoiseOnSum;
}

// One that it keeps. A rank that only serves adds no noise.
bool PrivateRun::has_key() const {
  return is_own() ? roles_.is_worker(group_->rank()) : is_first();
}

std::filesystem::path PrivateRun::key_file(
    const std::filesystem::path& folder) const {
  // The number of workers is in it: by another one examples would be dealt to
  // others, and the run cannot go on.
  return folder / (is_own() ? fmt::format("privacy-{}-of-{}.key",
                                          group_->rank() + 1, roles_.workers())
                            : "privacy.key");
}

PoissonSampling PrivateRun::sampling() const {
  return {.expected = expected_,
          .most_rows = recipe_.rows,
          .key = key_,
          .by_row = is_own()};
}

std::optional<std::int64_t> PrivateRun::own_examples() const {
  if (!is_own()) return std::nullopt;
  return std::max<std::int64_t>(expected_ / roles_.workers(), 1);
}

void PrivateRun::fit(const Recipe& recipe, Assembly& assembly) {
  examples_ = examples_of(*assembly.data).size();
  const PoissonOrder order(examples_, sampling(), {0, roles_.workers()});
  parts_ = order.parts();
  std::int64_t runs = recipe.train.epochs * order.parts_per_epoch();
  if (recipe.train.max_steps > 0) {
    runs = std::min(runs, recipe.train.max_steps);
  }
  steps_ = (runs + parts_ - 1) / parts_;
  const auto accounting = privacy::accounting_of(recipe_.accountant);
  mechanisms_ = privacy::dp_sgd(recipe_.noise > 0 ? recipe_.noise : 1,
                                order.rate(), steps_);
  if (recipe_.epsilon > 0) {
    mechanisms_ = privacy::with_least_noise(
        std::move(mechanisms_), {recipe_.epsilon, recipe_.delta}, accounting);
  }
  noise_ = option<double>(mechanisms_[0].options, "noise");
  if (parts_ > 1) {
    if (recipe.optimizer.name == kGivenObject) {
      throw refused("privacy.rows", "a batch in parts",
                    {"an optimizer of a program", "it must stand around it",
                     "privacy.rows = 0"});
    }
    OptimizerRecipe optimizer = recipe.optimizer;
    optimizer.wrap.push_back(fmt::format("accumulate(batches={})", parts_));
    assembly.optimizer = make_optimizer(optimizer);
  }
}

PrivateNoise PrivateRun::noise() const {
  const double workers = is_own() ? roles_.workers() : 1;
  const bool is_share = recipe_.noise_on == kNoiseInShares;
  return {.deviation =
              noise_ * recipe_.clip_norm / std::sqrt(is_share ? workers : 1),
          .expected_batch =
              static_cast<double>(expected_) / (has_own_means_ ? workers : 1),
          .parts = parts_,
          .key = key_};
}

std::optional<double> PrivateRun::one_by_one_norm() const {
  if (recipe_.per_example != kOneByOne) return std::nullopt;
  return recipe_.clip_norm;
}

std::string PrivateRun::text() const {
  const double epsilon = privacy::epsilon_of(
      mechanisms_, recipe_.delta, privacy::accounting_of(recipe_.accountant));
  return fmt::format(
      "private: epsilon {:.4g} at delta {:g} by {} steps of {} in {} examples, "
      "clipped to {:g}, with noise {:.4g} {}({})",
      epsilon, recipe_.delta, steps_, expected_, examples_, recipe_.clip_norm,
      noise_, is_own() ? fmt::format("on {} ", recipe_.noise_on) : "",
      recipe_.accountant);
}

std::string PrivateRun::admit(const std::string& job) const {
  if (recipe_.ledger.empty()) return "";
  if (group_ == nullptr) return ask(job);
  // A grant may take longer than workers are silent: the first one tells the
  // others that it still waits. If it is refused, they are told why it ends.
  const auto pause = std::chrono::duration<double>(timeout_ / 4);
  std::future<std::string> asked;
  if (is_first()) {
    asked = std::async(std::launch::async, [&] { return ask(job); });
  }
  std::array<std::uint8_t, 1> is_decided{0};
  while (is_decided[0] == 0) {
    if (is_first()) {
      is_decided[0] = asked.wait_for(pause) == std::future_status::ready;
    }
    share_bytes(*group_, "whether there is a budget", is_decided);
  }
  return is_first() ? asked.get() : "";
}

std::string PrivateRun::ask(const std::string& job) const {
  Ledger ledger = Ledger::open(recipe_.ledger);
  BudgetLedger budgets(ledger);
  // The key tells this run from all others, and its digest nothing of it.
  const std::string claim = "run-" + blake2b(key_.bytes).substr(0, 16);
  KeptClaim kept = budgets.ask({.claim = claim,
                                .job = job,
                                .mechanism = privacy::to_string(mechanisms_),
                                .blocks = words_of(recipe_.blocks)});
  if (kept.standing == ClaimStanding::kWaiting) {
    kept = budgets.wait(claim, recipe_.wait);
  }
  if (kept.standing == ClaimStanding::kRefused ||
      kept.standing == ClaimStanding::kReleased) {
    throw Error(ErrorCode::kExhausted, "privacy.ledger",
                "no budget for this run: {}",
                kept.because.empty() ? "it was given back" : kept.because)
        .hint(
            "less is given away by more noise (a smaller privacy.epsilon), "
            "fewer epochs or smaller batches; weft budget show says what is "
            "left");
  }
  budgets.begin(claim);
  return fmt::format("granted as {} by {}", claim, ledger.location());
}

void PrivateRun::keep_key(const std::filesystem::path& folder) const {
  if (is_resumed_) return;
  if (is_first()) remove_keys(folder);
  // Whoever has a folder of its own looks there; who shares the first one's
  // waits until it is cleared.
  std::array<std::uint8_t, 1> is_cleared{1};
  if (is_own()) share_bytes(*group_, "that old keys are gone", is_cleared);
  if (!has_key()) return;
  std::filesystem::create_directories(folder);
  std::filesystem::remove(key_file(folder));
  write_key(key_file(folder), key_);
}

void PrivateRun::forget_key(const std::filesystem::path& folder) const {
  if (has_key()) std::filesystem::remove(key_file(folder));
}

}  // namespace weft
