// A recipe: everything that decides what is trained, on what, and how.
//
// Written in TOML; every key is checked for its name, type and range, those
// of the model and the optimizer by what they declare in their registries. The
// canonical text of a recipe says everything, defaults included, and reads
// back as the same recipe: checkpoints carry it.
//
// Threads: a value type; the functions are pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/options.h"
#include "weft/nn/view.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"
#include "weft/tensor/dtype.h"
#include "weft/train/recipe/recipe_places.h"

namespace weft {

// What a section is called whose object a program gives (GivenObjects in
// train/assembly.h): no recipe can make it.
inline constexpr const char* kGivenObject = "object";
// The refusal of a `kind` ("model") that is such an object, and was not given.
Error needs_object(std::string_view kind);

struct ModelRecipe {
  std::string name;
  Options options;  // every other key of [model], completed by defaults
  // What the model sees of parameters, canonical: weft/nn/views.
  std::vector<nn::ViewChoice> views;

  bool operator==(const ModelRecipe&) const = default;
};

// What the model is trained for.
struct TaskRecipe {
  std::string name;  // of weft/train/tasks; the model's own if not given
  Options options;

  bool operator==(const TaskRecipe&) const = default;
};

struct DataRecipe {
  std::string name;
  std::string source;  // of weft/train/sources; the task's own if not given
  std::string folder;  // empty: see weft/data/fetch.h
  std::string schema;  // what the rows must be, a file; empty: anything
  std::vector<std::string> augment;  // "crop(padding=4)", …: canonical
  Options options;                   // the source's own

  bool operator==(const DataRecipe&) const = default;
};

// Parameters that are trained in another way than the rest.
struct GroupRecipe {
  std::string parameters;  // a pattern of names: "*.bias"
  bool is_frozen = false;  // they keep their first values
  double lr_scale = 1;     // times the optimizer's rate
  std::string name;        // of their optimizer
  // What stands around it, inside of what stands around all.
  std::vector<std::string> wrap;
  Options options;  // its own

  bool operator==(const GroupRecipe&) const = default;
};

struct OptimizerRecipe {
  std::string name;
  // lr = 0.1, or lr = "cosine(from=0.1, to=0.001)"; the optimizer's own rate
  // if the recipe has none.
  Schedule lr;
  double clip_norm = 0;  // of all gradients together; 0: none is clipped
  // "accumulate(batches=4)", …: weft/optim/wrappers, the first one innermost.
  std::vector<std::string> wrap;
  std::vector<GroupRecipe> groups;
  Options options;  // the optimizer's own: momentum, weight_decay, …

  bool operator==(const OptimizerRecipe&) const = default;
};

// The optimizers of all groups, inside of the wrappers. Throws
// Error(kInvalidArgument) for options that make no sense, and needs_object().
std::unique_ptr<Optimizer> make_optimizer(const OptimizerRecipe& recipe);

struct TrainRecipe {
  std::int64_t epochs = 10;
  std::int64_t batch = 128;
  DType dtype = DType::kF32;  // of activations: f32 or bf16
  std::int64_t seed = 1;
  std::int64_t eval_every = 1;        // epochs
  std::int64_t checkpoint_every = 0;  // steps; 0: after each epoch
  // Epochs without a better one after which the run ends; 0: none.
  std::int64_t patience = 0;
  std::int64_t max_steps = 0;  // 0: as many as the epochs have
  std::int64_t steps = 35;     // words per example, for text
  bool drop_last = false;
  bool check_numerics = false;
  // Bytes that the values of a step may take beside parameters and gradients
  // (compiler/recompute.h); 0: any.
  double memory = 0;
  // How a model that branches, loops or calls itself is run
  // (runtime/tagged/executor.h): activations that may be alive at once, workers
  // (0: as many as pay), and whether one step is computed for many of them at
  // once.
  std::int64_t max_frames = 1'000'000;
  std::int64_t recursion_workers = 0;
  std::string batching = "auto";  // or "always", "never"

  bool operator==(const TrainRecipe&) const = default;
};

// How several workers train together; without effect for one.
struct SyncRecipe {
  std::string policy = "allreduce";  // of weft/train/sync/policies
  std::string rule = "mean";         // of weft/train/sync/aggregation
  std::string sparsify = "none";     // "topk(0.01)": see comm/codec/codec.h
  std::string codec = "none";        // "value:qsgd(7)", "3lc", …, or "auto"
  std::string collective = "auto";   // "ring", "blueconnect([4, 8])", …
  // Measured; or as in comm/transport/topology.h; or a file that holds that.
  std::string topology = "auto";
  std::int64_t bucket_bytes = std::int64_t{1} << 18;
  bool slices = false;  // cut parameters that are larger than a bucket
  std::string order = "backward";  // of weft/train/sync/orders
  std::int64_t credit = 0;         // bytes under way while others wait; 0: any
  std::int64_t servers = 0;        // ranks that compute nothing; 0: all serve
  bool overlap = true;             // send gradients while others are computed
  // The next forward pass waits for each parameter as it comes to it, and not
  // for all before it begins.
  bool overlap_forward = false;
  // The optimizer's momentum, applied before sparsifying (Lin et al., "Deep
  // Gradient Compression", ICLR 2018); 0: not at all.
  double momentum_correction = 0;
  // What is kept of what was not sent: "gradients", "updates" (gradients times
  // the rate of their step, as in the theory of SGD with memory) or "none".
  std::string memory = "gradients";
  std::int64_t warmup_epochs = 0;   // in which more is sent than in the end
  std::int64_t min_elements = 256;  // smaller tensors are sent as they are
  // Steps between measurements of xi and drift (drift.h); 0: none.
  std::int64_t measure_every = 0;
  double timeout = 60;  // seconds of silence that are an error

  bool operator==(const SyncRecipe&) const = default;
};

// A cluster that is not there, on whose virtual clock several workers train.
struct SimulateRecipe {
  // As in comm/transport/topology.h; empty: nothing is simulated.
  std::string network;
  std::string compute = "measured";  // of weft/train/simulate/laws
  // As in comm/transport/sim.h.
  double loss = 0;
  double retransmit_after = 1e-3;  // seconds
  double tcp_timeout = 0;          // seconds
  double silence = 10e-3;          // seconds
  double most_delay = 0;           // seconds
  std::int64_t burst = 0;          // bytes
  std::string failures;            // "3@10s": as in train/simulate/failures.h

  bool operator==(const SimulateRecipe&) const = default;
};

// How little the trained model tells of any example (train/private_run.h).
struct PrivacyRecipe {
  double epsilon =
      0;  // one of the two is given; neither: training is not private
  double noise = 0;
  double delta = 1e-5;
  double clip_norm = 1;
  // What noise is added to where several workers train: "sum", "shares" or
  // "messages" (train/sync/private_policy.h).
  std::string noise_on = "sum";
  std::string accountant = "rdp";
  // How an example's gradients are computed: "batched", many at once, or "one
  // by one".
  std::string per_example = "batched";
  std::int64_t rows = 0;
  std::string ledger;
  std::string blocks = "*";
  double wait = 0;  // seconds

  bool is_on() const { return epsilon > 0 || noise > 0; }
  bool operator==(const PrivacyRecipe&) const = default;
};

// What the compiler does beyond its passes.
struct CompilerRecipe {
  // Substitutions in the step's graph that are searched for: "none", "greedy"
  // or "relaxed".
  std::string search = "none";
  double alpha = 1.05;
  std::int64_t budget = 300;
  double search_seconds = 60;
  std::string batch_norm = "auto";  // compiler/batch_norm_form.h

  bool operator==(const CompilerRecipe&) const = default;
};

struct LogRecipe {
  std::string folder;  // load_recipe() puts runs/NAME for an empty one

  bool operator==(const LogRecipe&) const = default;
};

struct Recipe {
  ModelRecipe model;
  TaskRecipe task;
  DataRecipe data;
  OptimizerRecipe optimizer;
  TrainRecipe train;
  SyncRecipe sync;
  SimulateRecipe simulate;
  PrivacyRecipe privacy;
  CompilerRecipe compiler;
  LogRecipe log;
  // Sections that keep nothing elsewhere, by name; each is complete.
  std::map<std::string, Options> more;
  RecipePlaces places;

  bool operator==(const Recipe&) const = default;
};

// Reads the TOML `text`, then each of `overrides` ("optimizer.lr=0.1", as
// given to --set; a value that is no TOML is taken as a string).
// Throws Error(kInvalidArgument) that names `where` and the line, or the
// override, for bad syntax, an unknown key (with the nearest known one), a
// wrong type, a value out of range or a missing key.
Recipe parse_recipe(std::string_view text, std::string_view where,
                    std::span<const std::string> overrides = {});

// The same from a file, whose name gives the folder of the run where the recipe
// does not. Throws as read_text() does, too.
Recipe load_recipe(const std::filesystem::path& path,
                   std::span<const std::string> overrides = {});

// The recipe of a program that gives model, data and optimizer: what is left to
// say is in `overrides`. Throws as parse_recipe().
Recipe recipe_of_objects(std::span<const std::string> overrides = {});

// The canonical text.
std::string to_toml(const Recipe& recipe);
// The text that checkpoints and folders of runs keep: without check_numerics,
// as looking for NaN changes no number.
std::string kept_text(Recipe recipe);

}  // namespace weft
