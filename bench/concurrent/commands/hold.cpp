// weft-concurrent-bench hold QUEUE --threads T --resident N --steps S: threads
// that pop an entry and push one with a later key, as event simulations do (the
// hold model), on a queue of N entries. A step is a pop and a push.
//
// QUEUE: multiqueue, multiqueue-owned, heap-spin-lock, heap-mutex, tbb, or
// standard, which is std::priority_queue on one thread.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <oneapi/tbb/concurrent_priority_queue.h>
#include <optional>
#include <queue>
#include <vector>

#include "bench/concurrent/command.h"
#include "bench/worker/serve.h"

#include "weft/concurrent/queue/locked_queue.h"
#include "weft/concurrent/queue/multi_queue.h"
#include "weft/concurrent/threads.h"

namespace weft {
namespace {

using namespace concurrent;
using Item = Entry<std::uint64_t, std::uint64_t>;
using Heap = ExactHeap<std::uint64_t, std::uint64_t, RealMemory>;
using Owned =
    MultiQueue<std::uint64_t, std::uint64_t, RealMemory, OwnedPair<RealMemory>>;

struct ComesLater {
  bool operator()(const Item& a, const Item& b) const { return b.key < a.key; }
};

// The peers, as handles know them.
class TbbQueue {
 public:
  struct Handle {
    TbbQueue& queue;
    void push(const Item& item) { queue.queue_.push(item); }
    std::optional<Item> pop() {
      Item item;
      if (!queue.queue_.try_pop(item)) return std::nullopt;
      return item;
    }
  };
  Handle handle(int /*thread*/) { return {*this}; }

 private:
  tbb::concurrent_priority_queue<Item, ComesLater> queue_;
};

class StandardQueue {
 public:
  struct Handle {
    StandardQueue& queue;
    void push(const Item& item) { queue.queue_.push(item); }
    std::optional<Item> pop() {
      if (queue.queue_.empty()) return std::nullopt;
      const Item item = queue.queue_.top();
      queue.queue_.pop();
      return item;
    }
  };
  Handle handle(int /*thread*/) { return {*this}; }

 private:
  std::priority_queue<Item, std::vector<Item>, ComesLater> queue_;
};

std::uint64_t step_of(FastRandom& random) { return random() >> 32U; }

template <class Queue>
class Hold {
 public:
  Hold(std::unique_ptr<Queue> queue, int threads, std::int64_t resident,
       std::int64_t steps)
      : queue_(std::move(queue)),
        threads_(threads),
        steps_each_(steps / threads) {
    FastRandom random(1, 0);
    auto handle = queue_->handle(0);
    for (std::int64_t i = 0; i < resident; ++i)
      handle.push({step_of(random), static_cast<std::uint64_t>(i)});
  }

  std::int64_t run() {
    ++block_;
    run_threads(threads_, [&](int thread) {
      auto handle = queue_->handle(thread);
      FastRandom random(block_, static_cast<std::uint64_t>(thread));
      for (std::int64_t i = 0; i < steps_each_; ++i) {
        auto item = handle.pop();
        while (!item) item = handle.pop();
        handle.push({item->key + step_of(random), item->value});
      }
    });
    return steps_each_ * threads_;
  }

 private:
  std::unique_ptr<Queue> queue_;
  int threads_;
  std::int64_t steps_each_;
  std::uint64_t block_ = 0;
};

// What goes in comes out: five of the keys, in order.
template <class Queue>
std::vector<double> five_keys(Queue& queue) {
  auto handle = queue.handle(0);
  FastRandom random(7, 7);
  for (std::uint64_t i = 0; i < 1000; ++i) handle.push({step_of(random), i});
  std::vector<double> keys;
  while (const auto item = handle.pop())
    keys.push_back(static_cast<double>(item->key));
  std::sort(keys.begin(), keys.end());
  return {keys.at(0), keys.at(250), keys.at(500), keys.at(750), keys.at(999)};
}

template <class Queue, class... Arguments>
void serve_hold(const bench::WorkerOptions& options,
                const Arguments&... arguments) {
  const auto make = [&] { return std::make_unique<Queue>(arguments...); };
  std::optional<Hold<Queue>> hold;
  bench::serve(
      {{"check",
        [&]() -> bench::Json {
          const auto values = five_keys(*make());
          hold.emplace(make(), static_cast<int>(options.integer("threads")),
                       options.integer("resident"), options.integer("steps"));
          return {{"values", values}};
        }},
       {"run",
        [&] { return bench::timed([&] { return hold.value().run(); }); }}},
      0);
}

void hold(const bench::WorkerOptions& options) {
  const auto threads = static_cast<int>(options.integer("threads"));
  const MultiQueueOptions multi{.queues = 4 * threads, .threads = threads};
  if (options.model == "multiqueue") {
    serve_hold<MultiQueue<std::uint64_t, std::uint64_t>>(options, multi);
  } else if (options.model == "multiqueue-owned") {
    serve_hold<Owned>(options, multi);
  } else if (options.model == "heap-spin-lock") {
    serve_hold<LockedQueue<Heap>>(options);
  } else if (options.model == "heap-mutex") {
    serve_hold<LockedQueue<Heap, std::mutex>>(options);
  } else if (options.model == "tbb") {
    serve_hold<TbbQueue>(options);
  } else if (options.model == "standard" && threads == 1) {
    serve_hold<StandardQueue>(options);
  } else {
    throw Error(ErrorCode::kInvalidArgument, "hold", "no queue '{}' for {}",
                options.model, threads);
  }
}

}  // namespace

void register_concurrent_hold(ConcurrentCommandRegistry& registry) {
  registry.add({"hold", hold});
}

}  // namespace weft
