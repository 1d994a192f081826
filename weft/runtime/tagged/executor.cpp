#include "weft/runtime/tagged/executor.h"

#include <algorithm>

#include "weft/base/parallel.h"
#include "weft/compiler/flat/branches.h"
#include "weft/compiler/flat/draft.h"
#include "weft/runtime/tagged/batcher.h"
#include "weft/runtime/tagged/crew.h"
#include "weft/runtime/tagged/worker.h"

namespace weft {
namespace {

// Whether two branches cannot both be taken: they lie on different sides of
// one.
bool exclude_each_other(const Branches& branches, int a, int b) {
  for (int x = a; x >= 0; x = branches[x].outer) {
    for (int y = b; y >= 0; y = branches[y].outer) {
      const BranchSide& one = branches[x];
      const BranchSide& other = branches[y];
      if (one.outer == other.outer && one.predicate == other.predicate &&
          one.side != other.side) {
        return true;
      }
    }
  }
  return false;
}

// Whether some body makes two calls in one activation. One of them may wait for
// the other all the same.
bool has_parallel_calls(const FlatGraph& graph) {
  const Branches branches(graph);
  std::vector<std::vector<int>> made(graph.bodies.size());  // branches, by body
  for (const CallSite& site : graph.sites) {
    const int branch = branches.of({site.calls.front(), 0});
    std::vector<int>& others = made[static_cast<std::size_t>(site.caller)];
    const auto is_apart = [&](int other) {
      return exclude_each_other(branches, branch, other);
    };
    if (!std::all_of(others.begin(), others.end(), is_apart)) return true;
    others.push_back(branch);
  }
  return false;
}

// Whether a body other than the entry multiplies matrices: one product over
// many activations costs little more than one over few.
bool has_products(const FlatGraph& graph) {
  return std::any_of(
      graph.nodes.begin(), graph.nodes.end(), [&](const FlatNode& node) {
        if (node.kind != FlatKind::kRegion || node.body == 0) return false;
        const auto& nodes = graph.regions[static_cast<std::size_t>(node.region)]
                                .function.nodes();
        return std::any_of(nodes.begin(), nodes.end(), is_product);
      });
}

// Sums are added up in one order, so by one worker.
bool has_sums(const FlatGraph& graph) {
  return std::any_of(
      graph.nodes.begin(), graph.nodes.end(),
      [](const FlatNode& node) { return node.kind == FlatKind::kAccumulate; });
}

// How many of the entry's arguments come each time that a run goes on.
std::vector<std::size_t> late_arguments(const FlatGraph& graph) {
  std::vector<std::size_t> late;
  for (const int id : graph.body(0).parameters) {
    const auto phase = static_cast<std::size_t>(graph.node(id).phase);
    if (phase > late.size()) late.resize(phase, 0);
    if (phase > 0) ++late[phase - 1];
  }
  return late;
}

bool is_batched(const FlatGraph& graph, const TaggedOptions& options) {
  if (options.batching != Batching::kWhereItPays) {
    return options.batching == Batching::kAlways;
  }
  // What is gathered would depend on when messages come, and with it the last
  // bits.
  if (options.peers != nullptr) return false;
  // One call after the other never has two instances ready. Without a product,
  // gathering moves as many bytes as it saves.
  return has_parallel_calls(graph) && has_products(graph);
}

}  // namespace

struct TaggedExecutor::State {
  State(FlatGraph graph, TaggedOptions given)
      : options(std::move(given)), session(std::move(graph)) {
    if (options.max_frames < 1 || options.workers < 0) {
      throw Error(ErrorCode::kInvalidArgument, "executor",
                  "{} frames and {} workers run nothing", options.max_frames,
                  options.workers)
          .hint("max_frames >= 1; workers >= 0, where 0 leaves it to Weft");
    }
    session.max_frames = options.max_frames;
    session.region_options = {.donated = {},
                              // A check looks at what each op gave, which a
                              // fused loop does not store.
                              .fuse = options.fuse && !options.check_numerics,
                              .check_numerics = options.check_numerics,
                              .without = options.without,
                              .batch_norm = options.batch_norm};
    session.is_timed = options.is_timed;
    session.before_work = options.before_work;
    const bool batched =
        session.region_options.fuse && is_batched(session.graph, options);
    session.peers = options.peers;
    session.late = late_arguments(session.graph);
    WEFT_CHECK(session.peers != nullptr || session.graph.crossings.empty(),
               "a part of a graph needs its other ranks");
    const bool is_single =
        batched || has_sums(session.graph) || session.peers != nullptr;
    // A batcher wants all that is ready in one place.
    int count = is_single ? 1 : options.workers;
    // A chain of calls keeps one worker busy; its kernels then have all
    // threads.
    if (count == 0) {
      count = has_parallel_calls(session.graph) ? thread_count() : 1;
    }
    for (int i = 0; i < count; ++i) {
      session.workers.push_back(
          // The worker is told if it is alone, and then counts without atomics.
          std::make_unique<TaggedWorker>(session, count == 1));
    }
    if (count > 1) {
      crew.emplace(count);
      // With several workers nobody knows when all readers of an argument have
      // run.
    } else if (session.peers == nullptr && session.late.empty()) {
      // Others may yet need an argument, and so may the rest of this run.
      session.finals = find_final_regions(session.graph, options.donated);
    }
    if (!batched) return;
    batcher.emplace(session);
    session.workers[0]->set_batcher(&*batcher);
  }

  void begin_run(std::stop_token stop) {
    session.stop = std::move(stop);
    session.peak_frames = 0;
    for (const auto& worker : session.workers) worker->begin_run();
    if (batcher) batcher->begin_run();
  }

  void run() {
    // The entry begins before any worker looks for work, or the first ones
    // might all wait and take the run for stuck.
    session.workers[0]->begin_entry();
    work();
    clean_up();
    // Frames are free by now, so that the next run can begin.
    session.pool.rethrow();
  }

  void work() {
    if (crew) {
      crew->run(
          [&](int i) { session.workers[static_cast<std::size_t>(i)]->work(); });
    } else {
      session.workers[0]->work();
    }
  }

  // Runs until nothing can happen before other arguments come. What was
  // computed stays in frames.
  void run_first_part() {
    session.workers[0]->begin_entry();
    work();
    if (session.pool.has_failed()) clean_up();
    session.pool.rethrow();
  }

  void run_next_part() {
    session.workers[0]->pass_late();
    work();
    if (!may_pause() || session.pool.has_failed()) clean_up();
    session.pool.rethrow();
  }

  // Whether arguments are still to come.
  bool may_pause() const { return session.gone_on < session.late.size(); }

  void reset() {
    // State of the last run goes here, so that a run which threw leaves nothing
    // to clear.
    session.results.assign(session.graph.body(0).results.size(), {});
    session.pool.reset(static_cast<int>(session.workers.size()), may_pause());
  }

  // An error on this rank ends the run on all.
  void run_among_peers(std::span<const Tensor> arguments) {
    // Arguments of other ranks come into this copy, some of them while regions
    // run; the caller's stay as they were given.
    std::vector<Tensor> own(arguments.begin(), arguments.end());
    try {
      session.peers->begin_run(session.graph);
      session.workers[0]->exchange_arguments(own);
      session.arguments = own;
      run();
      session.peers->end_run();
    } catch (const Error& error) {
      // The other ranks would wait for values that never come.
      session.peers->fail(error);
      throw;
    } catch (const std::exception& error) {
      session.peers->fail(Error(ErrorCode::kInternal,
                                "@" + session.graph.body(0).name, "{}",
                                error.what()));
      throw;
    }
  }

  void clean_up() {
    // Spans of the caller's memory do not outlive the run.
    session.arguments = {};
    session.destinations = {};
    kept_arguments.clear();
    // Some frames are in use after an error alone.
    if (session.live_frames() == 0) return;
    session.slab.reclaim();
    for (const auto& worker : session.workers) worker->drop_frames();
  }

  TaggedOptions options;
  Session session;
  std::vector<Tensor> kept_arguments;  // between the two parts of a run
  std::optional<Crew> crew;
  std::optional<Batcher> batcher;
};

TaggedExecutor::TaggedExecutor(FlatGraph graph, TaggedOptions options)
    : state_(std::make_unique<State>(std::move(graph), std::move(options))) {}
TaggedExecutor::~TaggedExecutor() = default;
TaggedExecutor::TaggedExecutor(TaggedExecutor&&) noexcept = default;

const FlatGraph& TaggedExecutor::graph() const { return state_->session.graph; }

std::vector<Tensor> TaggedExecutor::run(std::span<const Tensor> arguments,
                                        std::stop_token stop) {
  return run(arguments, {}, std::move(stop));
}

std::vector<Tensor> TaggedExecutor::run(std::span<const Tensor> arguments,
                                        std::span<const Tensor> destinations,
                                        std::stop_token stop) {
  Session& session = state_->session;
  const Body& entry = session.graph.body(0);
  WEFT_CHECK(arguments.size() == entry.parameters.size());
  WEFT_CHECK(destinations.size() == entry.results.size() ||
             (destinations.empty() && state_->options.donated.empty()));
  session.arguments = arguments;
  session.destinations = destinations;
  WEFT_CHECK(session.late.empty(), "some of the arguments come later");
  state_->begin_run(std::move(stop));
  state_->reset();
  if (session.peers != nullptr) {
    state_->run_among_peers(arguments);
  } else {
    state_->run();
  }
  return std::move(session.results);
}

std::vector<Tensor> TaggedExecutor::begin(std::span<const Tensor> arguments) {
  Session& session = state_->session;
  const std::size_t count = session.graph.body(0).parameters.size();
  WEFT_CHECK(!session.late.empty() &&
             arguments.size() == session.first_late(0));
  WEFT_CHECK(session.live_frames() == 0, "the last run was not ended");
  // The caller's list may be gone when the run goes on; tensors share their
  // memory.
  state_->kept_arguments.assign(arguments.begin(), arguments.end());
  state_->kept_arguments.resize(count);
  session.arguments = state_->kept_arguments;
  session.gone_on = 0;
  state_->begin_run({});
  state_->reset();
  state_->run_first_part();
  return std::move(session.results);
}

std::vector<Tensor> TaggedExecutor::go_on(std::span<const Tensor> late) {
  Session& session = state_->session;
  WEFT_CHECK(session.gone_on < session.late.size() &&
             late.size() == session.late[session.gone_on]);
  // The arguments of later phases stand behind the first ones, phase after
  // phase.
  std::copy(
      late.begin(), late.end(),
      state_->kept_arguments.begin() +
          static_cast<std::ptrdiff_t>(session.first_late(session.gone_on)));
  ++session.gone_on;
  state_->reset();
  state_->run_next_part();
  return std::move(session.results);
}

void TaggedExecutor::drop() { state_->clean_up(); }

TaggedProfile TaggedExecutor::profile() const {
  const Session& session = state_->session;
  TaggedProfile profile;
  for (const Region& region : session.graph.regions) {
    profile.regions.push_back({region.function.name()});
  }
  for (const Body& body : session.graph.bodies) {
    profile.bodies.push_back({body.name});
  }
  // Each worker counts for itself, without atomics, and the sums are made here.
  for (const auto& worker : session.workers) {
    const WorkerCounts& counts = worker->counts();
    for (std::size_t i = 0; i < counts.regions.size(); ++i) {
      profile.regions[i].runs += counts.regions[i].runs;
      profile.regions[i].instances += counts.regions[i].instances;
      profile.regions[i].seconds += counts.regions[i].seconds;
    }
    for (std::size_t i = 0; i < counts.activations.size(); ++i) {
      profile.bodies[i].activations += counts.activations[i];
    }
  }
  profile.peak_frames = session.peak_frames;
  profile.live_frames = session.live_frames();
  return profile;
}

std::int64_t TaggedProfile::activations(std::string_view body) const {
  std::int64_t count = 0;
  for (const BodyUse& use : bodies) {
    if (use.name == body) count += use.activations;
  }
  return count;
}

std::string to_string(const TaggedProfile& profile) {
  std::string text;
  for (const auto& body : profile.bodies) {
    text +=
        fmt::format("body @{}: {} activations\n", body.name, body.activations);
  }
  for (const auto& region : profile.regions) {
    if (region.runs == 0) continue;
    text += fmt::format("region {}: {} instance{}", region.name,
                        region.instances, region.instances == 1 ? "" : "s");
    if (region.runs < region.instances) {
      text += fmt::format(" in {} runs, batched: {:.1f} each", region.runs,
                          static_cast<double>(region.instances) /
                              static_cast<double>(region.runs));
    }
    if (region.seconds > 0) {
      text += fmt::format(", {:.3f} ms", region.seconds * 1e3);
    }
    text += '\n';
  }
  return text + fmt::format("{} frames at most\n", profile.peak_frames);
}

}  // namespace weft
