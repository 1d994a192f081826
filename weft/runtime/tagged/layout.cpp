#include "weft/runtime/tagged/layout.h"

#include <algorithm>
#include <map>
#include <set>

#include "weft/base/index.h"
#include "weft/runtime/tagged/frame.h"

namespace weft {
namespace {

// Arguments that one unit of work passes on: as many as its word has bits,
// but for the one that says it is queued.
constexpr std::size_t kMostArguments = 31;
static_assert(kQueued == 1u << kMostArguments);

// Who reads each value, within its activation.
struct Reader {
  int node;   // -1: a result of the body
  int input;  // -1: as a trigger; or which result
};

class LayoutBuilder {
 public:
  LayoutBuilder(const FlatGraph& graph, ProgramLayout& made)
      : graph_(graph), made_(made) {}

  void run() {
    // The order matters: a port names units of work by their numbers and slots,
    // so all units exist and are placed before the first port is made.
    find_readers();
    for (std::size_t body = 0; body < graph_.bodies.size(); ++body) {
      made_.bodies.push_back(
          {.body = static_cast<int>(body), .name = graph_.bodies[body].name});
    }
    for (const CallSite& site : graph_.sites) {
      made_.sites.push_back(
          {.caller = site.caller,
           .callee = site.callee,
           .is_tail = is_tail(site),
           .is_strict = is_loop(site),
           .adds_to_caller = site.adds_to_caller,
           .arguments = static_cast<std::uint32_t>(site.calls.size()),
           .location = site.location});
    }
    for (int id = 0; id < static_cast<int>(graph_.nodes.size()); ++id) {
      add_work(id);
    }
    for (std::size_t site = 0; site < graph_.sites.size(); ++site) {
      add_calls(static_cast<int>(site));
    }
    for (int body = 0; body < static_cast<int>(graph_.bodies.size()); ++body) {
      add_returns(body);
    }
    for (Layout& layout : made_.bodies) place_slots(layout);
    connect();
  }

 private:
  Layout& layout(int body) { return made_.bodies[at(body)]; }

  void find_readers() {
    for (int id = 0; id < static_cast<int>(graph_.nodes.size()); ++id) {
      const FlatNode& node = graph_.node(id);
      if (node.trigger.node >= 0) readers_[node.trigger].push_back({id, -1});
      // The value that a Return carries belongs to the callee's activation,
      // where it is read as a result.
      if (node.kind == FlatKind::kReturn) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        // A region looks arguments up where they are; nothing is sent to it.
        if (node.kind == FlatKind::kRegion &&
            graph_.is_argument(node.inputs[i])) {
          continue;
        }
        readers_[node.inputs[i]].push_back({id, static_cast<int>(i)});
      }
    }
    for (const Body& body : graph_.bodies) {
      for (std::size_t i = 0; i < body.results.size(); ++i) {
        readers_[body.results[i]].push_back({-1, static_cast<int>(i)});
      }
    }
  }

  // A unit of work; its slots are placed later.
  std::uint32_t add(int body, Work work) {
    Layout& target = layout(body);
    target.works.push_back(std::move(work));
    return static_cast<std::uint32_t>(target.works.size() - 1);
  }

  void add_work(int id) {
    const FlatNode& node = graph_.node(id);
    switch (node.kind) {
      case FlatKind::kRegion:
      case FlatKind::kSwitch:
      case FlatKind::kAccumulate:
      case FlatKind::kSend:
      case FlatKind::kReceive:
        break;
      default:
        return;
    }
    Work work{.kind = node.kind, .region = node.region, .index = node.index};
    for (const Endpoint input : node.inputs) {
      const bool is_argument =
          node.kind == FlatKind::kRegion && graph_.is_argument(input);
      // Within the entry an argument may have been given another body's type.
      const TensorType& type = graph_.type(input);
      work.inputs.push_back({type, is_inline(type), is_argument,
                             is_argument ? static_cast<std::uint32_t>(
                                               graph_.node(input.node).index)
                                         : 0});
      // An argument of the entry is there before anything runs.
      if (!is_argument) ++work.pending;
    }
    if (node.trigger.node >= 0) ++work.pending;
    work.is_first = work.pending == 0;
    works_[id] = {add(node.body, std::move(work)), 0};
  }

  void add_calls(int site_id) {
    const CallSite& site = graph_.sites[at(site_id)];
    const bool is_strict = made_.sites[at(site_id)].is_strict;
    // A strict call counts down like any other work. The arguments of others
    // are bits of a word, so that many of them make several units, which meet
    // in one callee: they share its place in the frame.
    const std::size_t most = is_strict ? site.calls.size() : kMostArguments;
    // The caller's frame keeps where the callee is: no table of activations is
    // searched.
    const std::uint32_t child = layout(site.caller).children++;
    for (std::size_t begin = 0; begin < site.calls.size(); begin += most) {
      const std::size_t end = std::min(begin + most, site.calls.size());
      Work work{.kind = FlatKind::kCall, .site = site_id, .child = child};
      for (std::size_t i = begin; i < end; ++i) {
        const FlatNode& node = graph_.node(site.calls[i]);
        const bool is_bare = node.index < 0;
        const TensorType type = is_bare ? TensorType{} : node.types[0];
        work.inputs.push_back({type, is_inline(type), is_bare, 0});
        const bool is_awaited = !is_bare || node.trigger.node >= 0;
        if (is_strict && is_awaited) ++work.pending;
        // A bare Call with nothing to await begins the callee with the caller.
        work.is_first = work.is_first || !is_awaited;
      }
      const std::uint32_t index = add(site.caller, std::move(work));
      for (std::size_t i = begin; i < end; ++i) {
        works_[site.calls[i]] = {index, static_cast<std::uint32_t>(i - begin)};
      }
    }
  }

  // One for every result that some site takes.
  void add_returns(int body) {
    // The results of the entry are the caller's of the run.
    std::vector<bool> is_taken(graph_.body(body).results.size(), body == 0);
    for (const FlatNode& node : graph_.nodes) {
      if (node.kind == FlatKind::kReturn &&
          graph_.sites[at(node.site)].callee == body) {
        is_taken[at(node.index)] = true;
      }
    }
    for (std::size_t i = 0; i < is_taken.size(); ++i) {
      if (!is_taken[i]) continue;
      const TensorType& type = graph_.type(graph_.body(body).results[i]);
      Work work{.kind = FlatKind::kReturn,
                .pending = 1,
                .index = static_cast<int>(i)};
      work.inputs.push_back({type, is_inline(type), false, 0});
      // Returns are the body's, not a site's: where a result goes is looked up
      // by the site that the frame was begun at.
      returns_[{body, static_cast<int>(i)}] = add(body, std::move(work));
    }
  }

  // The frame: header, children, counts, words, tensors.
  static void place_slots(Layout& layout) {
    std::size_t offset = sizeof(Frame);
    for (Work& work : layout.works) {
      if (work.kind == FlatKind::kCall) {
        work.child = static_cast<std::uint32_t>(sizeof(Frame)) +
                     work.child * static_cast<std::uint32_t>(sizeof(Frame*));
      }
    }
    offset += layout.children * sizeof(Frame*);
    layout.pending_offset = static_cast<std::uint32_t>(offset);
    for (std::size_t i = 0; i < layout.works.size(); ++i) {
      const Work& work = layout.works[i];
      // A call that runs at once is pushed as its activation begins. It is
      // marked as queued, and its first argument, the bare one, as there.
      const bool is_call = work.kind == FlatKind::kCall;
      layout.pending.push_back(work.is_first && is_call ? kQueued | 1
                                                        : work.pending);
      if (work.is_first) layout.first.push_back(static_cast<std::uint32_t>(i));
    }
    offset += layout.works.size() * sizeof(std::uint32_t);
    offset = (offset + 7) / 8 * 8;
    // Tensors stand together, so that a frame is emptied without a look at
    // types.
    const auto place = [&](bool words, std::size_t bytes) {
      for (Work& work : layout.works) {
        for (Input& input : work.inputs) {
          if (input.is_argument || input.is_inline != words) continue;
          input.slot = static_cast<std::uint32_t>(offset);
          offset += bytes;
          if (!words) layout.tensors.push_back(input.slot);
        }
      }
    };
    place(true, sizeof(std::uint64_t));
    static_assert(alignof(TensorBytes) <= 8);
    place(false, sizeof(TensorBytes));
    layout.frame_bytes = offset;
  }

  // Sets the ports.
  void connect() {
    for (const auto& [id, place] : works_) {
      const FlatNode& node = graph_.node(id);
      Work& work = layout(node.body).works[place.work];
      if (node.kind == FlatKind::kCall) continue;
      for (int i = 0; i < static_cast<int>(node.types.size()); ++i) {
        work.outputs.push_back(port({id, i}));
      }
    }
    for (std::size_t body = 0; body < graph_.bodies.size(); ++body) {
      for (const int id : graph_.bodies[body].parameters) {
        made_.bodies[body].parameters.push_back(port({id, 0}));
      }
    }
    for (int id = 0; id < static_cast<int>(graph_.nodes.size()); ++id) {
      const FlatNode& node = graph_.node(id);
      if (node.kind != FlatKind::kTotal) continue;
      layout(node.body).totals.push_back(
          {node.index, node.types[0], port({id, 0})});
    }
    for (std::size_t id = 0; id < graph_.sites.size(); ++id) {
      connect_site(graph_.sites[id], made_.sites[id]);
    }
  }

  void connect_site(const CallSite& site, SiteLayout& made) {
    for (const int id : site.calls) {
      const int argument = graph_.node(id).index;
      Work& work = layout(site.caller).works[works_.at(id).work];
      if (argument < 0) {
        // It carries nothing; the place keeps arguments and ports aligned.
        work.outputs.push_back({true});
        continue;
      }
      const auto& parameters = graph_.body(site.callee).parameters;
      const auto found = std::find_if(
          parameters.begin(), parameters.end(), [&](int parameter) {
            return graph_.node(parameter).index == argument;
          });
      WEFT_CHECK(found != parameters.end());
      work.outputs.push_back(port({*found, 0}));
    }
    const auto& results = graph_.body(site.callee).results;
    // Results that this site does not take go nowhere.
    for (const Endpoint result : results) {
      made.results.push_back({is_inline(graph_.type(result))});
    }
    for (const int id : site.returns) {
      made.results[at(graph_.node(id).index)] = port({id, 0});
    }
  }

  Port port(Endpoint value) const {
    Port made{is_inline(graph_.type(value))};
    add_targets(value, made.targets);
    return made;
  }

  void add_targets(Endpoint value, std::vector<Target>& targets) const {
    const auto found = readers_.find(value);
    // Nobody waits for the value, which then ends where it is made.
    if (found == readers_.end()) return;
    for (const Reader& reader : found->second) {
      if (reader.node < 0) {
        const int body = graph_.node(value.node).body;
        const auto known = returns_.find({body, reader.input});
        if (known != returns_.end()) {
          targets.push_back(target(body, known->second, 0, 0));
        }
        continue;
      }
      const FlatNode& node = graph_.node(reader.node);
      // One of the two branches sends, so a Merge needs no work of its own:
      // both sides send to who reads it.
      if (node.kind == FlatKind::kMerge) {
        add_targets({reader.node, 0}, targets);
        continue;
      }
      if (node.kind == FlatKind::kParameter) continue;  // a Call's
      const Place place = works_.at(reader.node);
      const int input = node.kind == FlatKind::kCall
                            ? static_cast<int>(place.argument)
                            : reader.input;
      targets.push_back(target(node.body, place.work,
                               reader.input < 0 ? -1 : input, place.argument));
    }
  }

  Target target(int body, std::uint32_t index, int input,
                std::uint32_t argument) const {
    const Work& work = made_.bodies[at(body)].works[index];
    Target made{index, Target::kNowhere, argument, Readiness::kCounted,
                work.kind == FlatKind::kCall};
    if (input >= 0) made.slot = work.inputs[at(input)].slot;
    // What waits for one value alone needs no count, and no atomic change of
    // one.
    if (work.pending == 0) {
      made.readiness = Readiness::kArgument;
    } else if (work.pending == 1) {
      made.readiness = Readiness::kAtOnce;
    }
    return made;
  }

  // Whether `value` is read as result `index` of the body, and not otherwise.
  bool is_only_result(Endpoint value, int index) const {
    const auto found = readers_.find(value);
    // A result that something else reads keeps the caller's frame busy.
    if (found == readers_.end() || found->second.size() != 1) return false;
    const Reader& reader = found->second[0];
    if (reader.node < 0) return reader.input == index;
    return graph_.node(reader.node).kind == FlatKind::kMerge &&
           is_only_result({reader.node, 0}, index);
  }

  bool is_tail(const CallSite& site) const {
    const std::size_t results = graph_.body(site.callee).results.size();
    // The entry's results are stored by its own Returns. With phases the
    // caller's frame has to stay until the call is entered again.
    if (site.caller == 0 || site.returns.size() != results ||
        graph_.body(site.caller).results.size() != results ||
        std::any_of(site.calls.begin(), site.calls.end(),
                    [&](int id) { return graph_.node(id).phase != 0; })) {
      return false;
    }
    return std::all_of(site.returns.begin(), site.returns.end(), [&](int id) {
      const FlatNode& node = graph_.node(id);
      return node.phase == 0 && is_only_result({id, 0}, node.index);
    });
  }

  // Whether a body calls itself here, last of all, and nowhere else.
  bool is_loop(const CallSite& site) const {
    return site.caller == site.callee && is_tail(site) &&
           std::count_if(graph_.sites.begin(), graph_.sites.end(),
                         [&](const CallSite& other) {
                           return other.caller == site.caller &&
                                  other.callee == site.callee;
                         }) == 1;
  }

  struct Place {
    std::uint32_t work;
    std::uint32_t argument;
  };

  const FlatGraph& graph_;
  ProgramLayout& made_;
  std::map<Endpoint, std::vector<Reader>> readers_;
  std::map<int, Place> works_;                            // by node
  std::map<std::pair<int, int>, std::uint32_t> returns_;  // by body and result
};

}  // namespace

ProgramLayout::ProgramLayout(const FlatGraph& graph) {
  LayoutBuilder(graph, *this).run();
}

int accumulator_of(const Layout& layout, const Port& port) {
  // A value that is read elsewhere too must exist by itself.
  if (port.targets.size() != 1) return -1;
  const Work& work = layout.works[port.targets[0].work];
  return work.kind == FlatKind::kAccumulate ? work.index : -1;
}

std::vector<bool> accumulated_results(const Layout& layout, const Work& work) {
  std::vector<bool> is_accumulated;
  std::set<int> seen;
  for (const Port& port : work.outputs) {
    const int accumulator = accumulator_of(layout, port);
    // A plan has one operand for each total, which two results cannot both
    // overwrite.
    is_accumulated.push_back(accumulator >= 0 &&
                             seen.insert(accumulator).second);
  }
  return is_accumulated;
}

}  // namespace weft
