#include "weft/runtime/tagged/batcher.h"

#include <algorithm>
#include <bit>

#include "weft/base/index.h"
#include "weft/base/stopwatch.h"
#include "weft/batching/batch.h"
#include "weft/compiler/flat/row_sums.h"

namespace weft {
namespace {

constexpr std::size_t kMostInstances = 1024;
constexpr std::size_t kMostExact = 32;
// What regions are for, in the order in which they run.
constexpr int kLeadsOn = 0;
constexpr int kComputes = 1;
constexpr int kOnlyAdds = 2;

constexpr std::size_t kMostBits = 64;  // inputs, results

// The largest size at most `count` for which plans are made: every small one,
// and eight to each doubling above. Every size is a plan that takes time to
// make, and what is left over is a run of its own.
std::size_t planned_size(std::size_t count) {
  count = std::min(count, kMostInstances);
  if (count <= kMostExact) return count;
  const std::size_t step = std::bit_floor(count) / 8;
  WEFT_CHECK(step > 0);
  return count / step * step;
}

TensorType with_batch(const TensorType& type, std::size_t count) {
  Shape shape{static_cast<Dim>(count)};
  for (const Dim dim : type.shape) shape.push_back(dim);
  return {type.dtype, shape};
}

bool has(std::uint64_t bits, std::size_t index) {
  return (bits >> index & 1) != 0;
}

// The region over instances that share some of its inputs, and sum some of its
// results.
Batched batch_region(const Function& region, std::uint64_t shared,
                     std::uint64_t summed) {
  const std::size_t count = region.parameters().size();
  const auto batched = std::make_unique<bool[]>(count);
  for (std::size_t i = 0; i < count; ++i) batched[i] = !has(shared, i);
  std::vector<BatchMode> modes;
  for (std::size_t i = 0; i < region.results().size(); ++i) {
    modes.push_back(has(summed, i) ? BatchMode::kSum : BatchMode::kStack);
  }
  return batch(region, std::span<const bool>(batched.get(), count), modes);
}

// Whether a region is worth gathering, and can be.
bool can_batch(const FlatGraph& graph, const FlatNode& node) {
  const Function& region = graph.regions[at(node.region)].function;
  const std::size_t inputs = node.inputs.size();
  if (inputs > kMostBits || region.results().size() > kMostBits ||
      // Single numbers are computed at less than what gathering them costs.
      ScalarProgram::of(region)) {
    return false;
  }
  std::uint64_t shared = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    if (graph.is_argument(node.inputs[i])) shared |= std::uint64_t{1} << i;
  }
  // All instances would compute the same.
  if (std::popcount(shared) == static_cast<int>(inputs)) return false;
  // Every op says itself, as its rule is applied, whether it can be batched.
  try {
    batch_region(region, shared, 0);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return false;
  }
}

// The phase in which each node can run: that of the last argument that it
// waits for.
std::vector<int> phases_of(const FlatGraph& graph) {
  std::vector<int> phases(graph.nodes.size(), 0);
  // The graph has cycles, so phases rise until nothing changes. They are
  // bounded, as a parameter takes the phase of its Calls and nothing else of
  // the caller.
  bool changed = true;
  while (changed) {
    changed = false;
    for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
      const FlatNode& node = graph.nodes[id];
      int phase = phases[id];
      const auto wait_for = [&](int other) {
        phase = std::max(phase, phases[at(other)]);
      };
      // A parameter waits for the phase in which it is passed, a result for the
      // Calls of its own phase and those before.
      if (node.kind == FlatKind::kParameter) {
        for (const Endpoint call : node.inputs) {
          phase = std::max(phase, graph.node(call.node).phase);
        }
      } else if (node.kind == FlatKind::kReturn) {
        for (const int call : graph.sites[at(node.site)].calls) {
          if (graph.node(call).phase <= node.phase) wait_for(call);
        }
      } else {
        for (const Endpoint input : node.inputs) wait_for(input.node);
      }
      changed = changed || phase != phases[id];
      phases[id] = phase;
    }
  }
  return phases;
}

// Whether a value is passed to a call or another rank, or decides a branch, as
// it is.
bool leads_on(const Layout& layout, const Port& port) {
  return std::any_of(
      port.targets.begin(), port.targets.end(), [&](const Target& target) {
        const Work& work = layout.works[target.work];
        if (work.kind == FlatKind::kCall || work.kind == FlatKind::kSend) {
          return true;
        }
        // Behind a Switch the value goes on as it is; as a predicate it
        // decides.
        if (work.kind != FlatKind::kSwitch) return false;
        if (target.slot == work.inputs[1].slot) return true;
        return leads_on(layout, work.outputs[0]) ||
               leads_on(layout, work.outputs[1]);
      });
}

bool only_adds(const Layout& layout, const Port& port) {
  return std::all_of(
      port.targets.begin(), port.targets.end(), [&](const Target& target) {
        return layout.works[target.work].kind == FlatKind::kAccumulate;
      });
}

}  // namespace

Batcher::Priority Batcher::priority_of(const Layout& layout, const Work& work,
                                       int phase) {
  const auto& ports = work.outputs;
  if (std::any_of(ports.begin(), ports.end(),
                  [&](const Port& port) { return leads_on(layout, port); })) {
    // Bodies are numbered as calls lead to them, so a lower number is further
    // out. What does not lead on is ordered by its size alone.
    return {phase, kLeadsOn, layout.body};
  }
  const bool is_last =
      std::all_of(ports.begin(), ports.end(),
                  [&](const Port& port) { return only_adds(layout, port); });
  return {phase, is_last ? kOnlyAdds : kComputes, 0};
}

Batcher::Batcher(Session& session)
    : session_(session), queues_(session.graph.regions.size()) {
  const std::vector<int> phases = phases_of(session.graph);
  std::vector<int> phase_of_region(queues_.size());
  for (std::size_t id = 0; id < session.graph.nodes.size(); ++id) {
    const FlatNode& node = session.graph.nodes[id];
    if (node.kind != FlatKind::kRegion) continue;
    queues_[at(node.region)].is_taken = can_batch(session.graph, node);
    phase_of_region[at(node.region)] = phases[id];
  }
  for (const Layout& layout : session.program.bodies) {
    for (const Work& work : layout.works) {
      if (work.kind != FlatKind::kRegion) continue;
      queues_[at(work.region)].priority =
          priority_of(layout, work, phase_of_region[at(work.region)]);
    }
  }
}

void Batcher::begin_run() {
  for (Queue& queue : queues_) queue.items.clear();
  gathered_.clear();
  made_.clear();
}

bool Batcher::takes(int region) const { return queues_[at(region)].is_taken; }

void Batcher::add(Item item) {
  const Work& work = item.frame->layout->works[item.work];
  Queue& queue = queues_[at(work.region)];
  if (queue.items.empty()) queue.since = ++ticks_;
  queue.items.push_back(item);
}

bool Batcher::is_before(const Queue& a, const Queue& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  // The oldest come first: they are of the level that is nearest to the entry.
  if (a.priority.use == kLeadsOn) return a.since < b.since;
  return a.items.size() > b.items.size();
}

bool Batcher::run(TaggedWorker& worker) {
  Queue* next = nullptr;
  for (Queue& queue : queues_) {
    if (queue.items.empty()) continue;
    // Sizes change with every item, so an order of the queues would have to be
    // kept up; looking at all of them is once for a batch.
    if (next == nullptr || is_before(queue, *next)) next = &queue;
  }
  if (next == nullptr) return false;
  // What these instances send may add new ones to the same queue.
  const std::vector<Item> items = std::exchange(next->items, {});
  for (std::size_t begin = 0; begin < items.size();) {
    const std::size_t count = planned_size(items.size() - begin);
    // A region alone is run by its own plan, without a batch axis.
    if (count == 1) {
      worker.run(items[begin]);
    } else {
      run_together(worker, *next, std::span(items).subspan(begin, count));
    }
    begin += count;
  }
  return true;
}

Batcher::Batch& Batcher::batch_of(Queue& queue, const Layout& layout,
                                  const Work& work, const Variant& variant) {
  auto& known = queue.batches[variant];
  if (known == nullptr) {
    const Function& region = session_.graph.regions[at(work.region)].function;
    const Batched batched =
        batch_region(region, variant.shared, variant.summed);
    Bindings bindings;
    // A plan needs known dims, so each number of instances has its own.
    bindings.bind(batched.size, static_cast<Dim>(variant.count));
    std::vector<bool> is_added = accumulated_results(layout, work);
    for (std::size_t i = 0; i < is_added.size(); ++i) {
      // A result that is stacked has no one total: its rows go to several.
      is_added[i] = is_added[i] && has(variant.summed, i);
    }
    WithTotals made =
        add_to_totals(specialize(batched.function, bindings), is_added);
    PlanOptions options = session_.region_options;
    options.donated = made.donated;
    Plan plan(made.function, options);
    known = std::make_unique<Batch>(
        Batch{std::move(plan), batched.is_stacked, variant.summed,
              std::move(made.results),
              span_kind({fmt::format("{} × {}", region.name(), variant.count),
                         "batch"})});
  }
  return *known;
}

// Arguments of the entry, and tensors that all instances hold.
std::uint64_t Batcher::shared_inputs(const Work& work,
                                     std::span<const Item> items) const {
  std::uint64_t shared = 0;
  std::uint64_t fixed = 0;
  for (std::size_t i = 0; i < work.inputs.size(); ++i) {
    const Input& input = work.inputs[i];
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (input.is_argument) fixed |= bit;
    const auto is_same = [&](const Item& item) {
      return item.frame->tensor(input.slot).raw() ==
             items[0].frame->tensor(input.slot).raw();
    };
    if (input.is_argument ||
        (!input.is_inline &&
         std::all_of(items.begin(), items.end(), is_same))) {
      shared |= bit;
    }
  }
  // Something has to differ, or there is no batch.
  const bool is_all =
      std::popcount(shared) == static_cast<int>(work.inputs.size());
  return is_all ? fixed : shared;
}

// Results that do nothing but add to an accumulator that all instances have.
std::uint64_t Batcher::summed_results(const Work& work,
                                      std::span<const Item> items) const {
  const Frame* first = items[0].frame;
  if (!std::all_of(items.begin(), items.end(), [&](const Item& item) {
        return item.frame->sums == first->sums;
      })) {
    return 0;
  }
  std::uint64_t summed = 0;
  for (std::size_t i = 0; i < work.outputs.size(); ++i) {
    if (accumulator_of(*first->layout, work.outputs[i]) >= 0) {
      summed |= std::uint64_t{1} << i;
    }
  }
  return summed;
}

// The instances' values as one tensor: in place if they lie one behind the
// other.
void* Batcher::gather(const Input& input, std::span<const Item> items) {
  const std::size_t bytes = input.type.bytes();
  const auto address = [&](const Item& item) -> std::byte* {
    return input.is_inline
               ? item.frame->at(input.slot)
               : static_cast<std::byte*>(item.frame->tensor(input.slot).raw());
  };
  // Rows of one earlier batch lie so, where their order has stayed.
  std::byte* first = address(items[0]);
  bool is_adjacent = true;
  for (std::size_t i = 1; is_adjacent && i < items.size(); ++i) {
    is_adjacent = address(items[i]) == first + i * bytes;
  }
  if (is_adjacent) return first;
  // The copy lives until the batch has run.
  gathered_.push_back(Tensor::empty(with_batch(input.type, items.size())));
  auto* to = static_cast<std::byte*>(gathered_.back().raw());
  for (const Item& item : items) {
    std::memcpy(to, address(item), bytes);
    to += bytes;
  }
  return gathered_.back().raw();
}

void Batcher::run_together(TaggedWorker& worker, Queue& queue,
                           std::span<const Item> items) {
  Frame* first = items[0].frame;
  const Work& work = first->layout->works[items[0].work];
  const Function& region = session_.graph.regions[at(work.region)].function;
  RegionUse& use = worker.counts().regions[at(work.region)];
  ++use.runs;
  use.instances += static_cast<std::int64_t>(items.size());
  std::optional<Stopwatch> watch;
  if (session_.is_timed) watch.emplace();
  const std::uint64_t shared = shared_inputs(work, items);
  Batch& batch = batch_of(queue, *first->layout, work,
                          {items.size(), shared, summed_results(work, items)});
  inputs_.clear();
  outputs_.clear();
  made_.clear();
  for (std::size_t i = 0; i < work.inputs.size(); ++i) {
    const Input& input = work.inputs[i];
    if (input.is_argument) {
      inputs_.push_back(session_.arguments[input.slot].raw());
    } else if (has(shared, i)) {
      inputs_.push_back(items[0].frame->tensor(input.slot).raw());
    } else {
      inputs_.push_back(gather(input, items));
    }
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < region.results().size(); ++i) {
    const TensorType& type = region.type(region.results()[i]);
    // The plan adds to the total where it lies, and takes it as its last
    // operands.
    if (next < batch.added.size() && batch.added[next] == i) {
      void* total =
          first->sums
              ->total(accumulator_of(*first->layout, work.outputs[i]), type)
              .raw();
      inputs_.push_back(total);
      outputs_.push_back(total);
      // An empty place keeps the results countable: send() passes over it.
      made_.emplace_back();
      ++next;
      continue;
    }
    made_.push_back(Tensor::empty(
        batch.is_stacked[i] ? with_batch(type, items.size()) : type));
    outputs_.push_back(made_.back().raw());
  }
  {
    const ProfiledSpan span(batch.span);
    batch.plan.run(inputs_, outputs_, worker.arena(batch.plan.arena_bytes()));
  }
  for (const Input& input : work.inputs) {
    // Rows keep the whole tensor of their batch alive; it is given back with
    // the last of them.
    if (input.is_argument || input.is_inline) continue;
    for (const Item& item : items) item.frame->tensor(input.slot) = {};
  }
  gathered_.clear();
  send(worker, work, batch, items);
  if (watch) use.seconds += watch->seconds();
}

void Batcher::send(TaggedWorker& worker, const Work& work, const Batch& batch,
                   std::span<const Item> items) {
  // Sums have been added up over all instances by now, and count once.
  for (std::size_t i = 0; i < work.outputs.size(); ++i) {
    if (!has(batch.summed, i) || !made_[i].is_defined()) continue;
    Frame* first = items[0].frame;
    first->sums->add(accumulator_of(*first->layout, work.outputs[i]),
                     std::exchange(made_[i], Tensor()));
  }
  std::vector<std::size_t> bytes_of;  // an instance's part of each result
  for (std::size_t i = 0; i < work.outputs.size(); ++i) {
    bytes_of.push_back(made_[i].bytes() /
                       (batch.is_stacked[i] ? items.size() : 1));
  }
  std::vector<std::size_t> waiting;  // by queue
  for (const Queue& queue : queues_) waiting.push_back(queue.items.size());
  // The worker takes its newest item first, which so belongs to the first
  // instance: Calls, Switches and Returns that follow run in the order of the
  // instances.
  for (std::size_t k = items.size(); k-- > 0;) {
    Frame* frame = items[k].frame;
    std::int32_t begun = 0;
    for (std::size_t i = work.outputs.size(); i-- > 0;) {
      if (has(batch.summed, i)) continue;
      const Port& port = work.outputs[i];
      const Tensor& all = made_[i];
      const std::size_t behind = batch.is_stacked[i] ? k * bytes_of[i] : 0;
      if (!port.is_inline) {
        begun += worker.send(frame, port, TensorBytes(all).behind(behind));
        continue;
      }
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(all.raw()) + behind,
                  bytes_of[i]);
      begun += worker.send(frame, port, word);
    }
    worker.finish(frame, begun - 1);
  }
  // Regions that follow are not taken from the end, and find these rows one
  // behind the other only in the same order.
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    auto& items = queues_[i].items;
    std::reverse(items.begin() + static_cast<std::ptrdiff_t>(waiting[i]),
                 items.end());
  }
}

}  // namespace weft
