// weft-concurrent-bench ready-queue QUEUE --graph forks|layers|chain --tasks N
// --work NS --threads T: runs a graph of tasks that each work for NS
// nanoseconds, from one of two ready queues. Work is tasks.
//
// QUEUE: stealing, which is the tagged executor's (runtime/tagged/pool.h): a
// stack per worker, newest first, whose oldest entries go to workers that ask;
// or critical-path: a MultiQueue, the task with the most work after it first.
// Ready tasks have no unfinished predecessors, so any order is legal and no
// task is tried twice.
//
// GRAPH: forks, a binary tree of forks and the mirrored one of joins, as a
// recursion makes; layers, where each task waits for two random ones of the
// layer before it; chain, a chain of a third of the tasks, found last by
// whoever goes for the newest, and beside it tasks that wait for nothing.
#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "bench/concurrent/command.h"
#include "bench/worker/serve.h"

#include "weft/concurrent/backoff.h"
#include "weft/concurrent/queue/multi_queue.h"
#include "weft/concurrent/threads.h"
#include "weft/runtime/tagged/pool.h"

namespace weft {
namespace {

using namespace concurrent;
using TaskId = std::uint32_t;

struct TaskGraph {
  std::vector<std::vector<TaskId>> successors;
  std::vector<std::uint32_t> predecessors;  // how many
  std::vector<std::uint32_t> path_after;    // tasks on the longest path

  explicit TaskGraph(TaskId tasks)
      : successors(tasks), predecessors(tasks, 0), path_after(tasks, 0) {}

  TaskId size() const { return static_cast<TaskId>(successors.size()); }

  // Edges lead to larger numbers.
  void add(TaskId from, TaskId to) {
    WEFT_CHECK(from < to);
    successors[from].push_back(to);
    ++predecessors[to];
  }

  void find_paths() {
    for (TaskId task = size(); task-- != 0;)
      for (const TaskId next : successors[task])
        path_after[task] = std::max(path_after[task], path_after[next] + 1);
  }
};

// Node i of a binary tree forks into 2i + 1 and 2i + 2; what joins them comes
// as far from the end as it from the beginning.
TaskGraph forks(TaskId tasks) {
  const TaskId nodes = tasks / 2;
  TaskGraph graph(2 * nodes);
  const auto join = [nodes](TaskId node) { return 2 * nodes - 1 - node; };
  for (TaskId node = 0; node < nodes; ++node) {
    if (node != 0) {
      graph.add((node - 1) / 2, node);
      graph.add(join(node), join((node - 1) / 2));
    }
    const bool is_leaf = 2 * node + 1 >= nodes;
    if (is_leaf) graph.add(node, join(node));
  }
  return graph;
}

TaskGraph layers(TaskId tasks) {
  constexpr TaskId kWidth = 64;
  TaskGraph graph(tasks);
  FastRandom random(1, 0);
  for (TaskId task = kWidth; task < tasks; ++task) {
    const TaskId before = (task / kWidth - 1) * kWidth;
    graph.add(before + random.below(kWidth), task);
    graph.add(before + random.below(kWidth), task);
  }
  return graph;
}

TaskGraph chain(TaskId tasks) {
  TaskGraph graph(tasks);
  for (TaskId task = 1; task < tasks / 3; ++task) graph.add(task - 1, task);
  return graph;
}

TaskGraph graph_of(const std::string& name, TaskId tasks) {
  const auto make = name == "forks"    ? forks
                    : name == "layers" ? layers
                    : name == "chain"  ? chain
                                       : nullptr;
  if (make == nullptr)
    throw Error(ErrorCode::kInvalidArgument, "ready-queue", "no graph '{}'",
                name)
        .hint("forks, layers, chain");
  TaskGraph graph = make(tasks);
  graph.find_paths();
  return graph;
}

// One run: what is common to both queues.
class TaskRun {
 public:
  TaskRun(const TaskGraph& graph, std::uint64_t work_ns)
      : graph_(graph), work_ns_(work_ns), pending_(graph.size()) {
    for (TaskId task = 0; task < graph.size(); ++task)
      pending_[task].store(graph.predecessors[task], std::memory_order_relaxed);
  }

  // Calls push(task) for those that have no predecessors.
  template <class Push>
  void begin(Push&& push) const {
    for (TaskId task = 0; task < graph_.size(); ++task)
      if (graph_.predecessors[task] == 0) push(task);
  }

  // Works, and calls push(task) for what became ready. Whether it was the last.
  template <class Push>
  bool run(TaskId task, Push&& push) {
    const std::uint64_t end = RealMemory::nanoseconds() + work_ns_;
    while (RealMemory::nanoseconds() < end) {
    }
    for (const TaskId next : graph_.successors[task])
      if (pending_[next].fetch_sub(1, std::memory_order_acq_rel) == 1)
        push(next);
    return done_.fetch_add(1, std::memory_order_acq_rel) + 1 == graph_.size();
  }

  bool is_done() const {
    return done_.load(std::memory_order_acquire) == graph_.size();
  }

 private:
  const TaskGraph& graph_;
  std::uint64_t work_ns_;
  std::vector<std::atomic<std::uint32_t>> pending_;
  std::atomic<std::uint32_t> done_{0};
};

// Does what Worker::next() and Worker::share() do with calls.
void run_stealing(TaskRun& run, int threads) {
  WorkPool pool;
  pool.reset(threads);
  run_threads(threads, [&](int thread) {
    std::vector<TaskId> stack;
    std::size_t oldest = 0;
    const auto push = [&](TaskId task) { stack.push_back(task); };
    if (thread == 0) run.begin(push);
    for (;;) {
      if (pool.is_stopped()) return;
      if (pool.wants_work() && stack.size() - oldest > 1)
        pool.offer({nullptr, stack[oldest++]});
      std::optional<TaskId> task;
      if (stack.size() > oldest) {
        task = stack.back();
        stack.pop_back();
      } else {
        stack.clear();
        oldest = 0;
        if (const auto item = pool.wait()) task = item->work;
      }
      if (!task) return;
      if (run.run(*task, push)) pool.finish();
    }
  });
  pool.rethrow();
}

void run_critical_path(TaskRun& run, const TaskGraph& graph, int threads) {
  MultiQueue<std::uint32_t, TaskId> queue({.queues = 2 * threads});
  run_threads(threads, [&](int thread) {
    auto handle = queue.handle(thread);
    const auto push = [&](TaskId task) {
      handle.push({graph.size() - graph.path_after[task], task});
    };
    if (thread == 0) run.begin(push);
    Backoff<RealMemory> wait;
    while (!run.is_done()) {
      if (const auto entry = handle.pop()) {
        run.run(entry->value, push);
        wait.reset();
      } else {
        wait();
      }
    }
  });
}

void ready_queue(const bench::WorkerOptions& options) {
  const TaskGraph graph = graph_of(
      options.text("graph"), static_cast<TaskId>(options.integer("tasks")));
  const auto work_ns = static_cast<std::uint64_t>(options.integer("work"));
  const auto threads = static_cast<int>(options.integer("threads"));
  const bool is_stealing = options.model == "stealing";
  if (!is_stealing && options.model != "critical-path")
    throw Error(ErrorCode::kInvalidArgument, "ready-queue", "no queue '{}'",
                options.model);
  const auto run_once = [&]() -> std::int64_t {
    TaskRun run(graph, work_ns);
    if (is_stealing)
      run_stealing(run, threads);
    else
      run_critical_path(run, graph, threads);
    WEFT_CHECK(run.is_done());
    return graph.size();
  };
  bench::serve({{"run", [&] { return bench::timed(run_once); }}}, 0);
}

}  // namespace

void register_concurrent_ready_queue(ConcurrentCommandRegistry& registry) {
  registry.add({"ready-queue", ready_queue});
}

}  // namespace weft
