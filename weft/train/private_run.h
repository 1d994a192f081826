// Training with differential privacy (Abadi et al., "Deep Learning with
// Differential Privacy", CCS 2016): what a recipe's [privacy] makes of a run.
//
// Each example joins a batch on its own, its gradients are clipped by
// themselves, and noise is added to their sum. Who joins and what noise is
// added follow from a key of the run, which lies in its folder, for its owner
// alone to read, until the run has ended: a run that is killed and resumed does
// again what it did, and gives away nothing more. Then the key is gone, as with
// it the noise could be taken off.
//
// Several workers are one run. Where noise is on the sum they have one key, and
// of each batch a part; else each draws a key and batches of its own, and keeps
// that key where it is (sync/private_policy.h).
//
// The promise is about the training part alone, and about the weights: what is
// measured on held-out data is measured as it is.
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "weft/privacy/accountant.h"
#include "weft/train/assembly.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/private_noise.h"
#include "weft/train/sync/roles.h"
#include "weft/train/sync/worker_group.h"

namespace weft {

class PrivateRun {
 public:
  // The key is read if a run is resumed, and drawn else: by each worker, or by
  // the first, who tells it the others where they have it in common. Throws
  // Error(kInvalidArgument) for what does not compose with private training.
  // `group` is null for one worker, and outlives this. Collective.
  PrivateRun(const Recipe& recipe, WorkerGroup* group,
             const GivenObjects& given, bool is_resumed);

  // Throws Error(kInvalidArgument) unless a run that goes on does again what it
  // did: by the recipe `began` (the text that its folder or a checkpoint has of
  // it), and from data of which nothing is `changed`.
  void require_same(const Recipe& recipe, const std::string& began,
                    const std::vector<std::string>& changed) const;

  PoissonSampling sampling() const;
  // Finds how many steps there are and how much noise they take, for the data
  // that were opened, and wraps the optimizer where a step has several parts.
  void fit(const Recipe& recipe, Assembly& assembly);

  PrivateNoise noise() const;
  // Examples that are expected of a worker, where noise is its own.
  std::optional<std::int64_t> own_examples() const;
  // What examples are clipped to that are computed one by one; nothing if many
  // are at once.
  std::optional<double> one_by_one_norm() const;
  // What the whole run does to the data.
  const privacy::Mechanisms& mechanisms() const { return mechanisms_; }
  // "epsilon 2.93 at delta 1e-05: …".
  std::string text() const;

  // Asks the recipe's ledger, if it names one, for what the run gives away, and
  // waits as long as the recipe says. What a run that is resumed was granted
  // holds. Returns what there is to say; throws Error(kExhausted) with the
  // numbers where the budget does not suffice. The first worker asks for all of
  // them. Collective.
  std::string admit(const std::string& job) const;

  // Before admit(), and after the last step. Collective.
  void keep_key(const std::filesystem::path& folder) const;
  void forget_key(const std::filesystem::path& folder) const;

 private:
  bool is_first() const { return group_ == nullptr || group_->is_first(); }
  bool is_own() const;
  bool has_key() const;
  std::filesystem::path key_file(const std::filesystem::path& folder) const;
  std::string ask(const std::string& job) const;

  PrivacyRecipe recipe_;
  WorkerGroup* group_;
  Roles roles_;
  // Whether each worker's gradients are of the mean over its own examples
  // alone, and not of that over all (SyncPolicyDef::sends_gradients).
  bool has_own_means_;
  std::int64_t expected_ = 0;  // examples of a batch
  double timeout_;             // seconds that workers may be silent
  bool is_resumed_;
  SecretKey key_;
  // What is known once it fits data.
  std::int64_t examples_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t parts_ = 1;
  double noise_ = 0;
  privacy::Mechanisms mechanisms_;
};

}  // namespace weft
