#include "weft/compiler/flat/final_regions.h"

#include <algorithm>
#include <map>

#include "weft/base/index.h"

namespace weft {
namespace {

class Finder {
 public:
  Finder(const FlatGraph& graph, const Donations& donated)
      : graph_(graph), finals_(graph.regions.size()) {
    for (int id = 0; id < static_cast<int>(graph.nodes.size()); ++id) {
      for (const Endpoint input : graph.node(id).inputs) {
        readers_[input].push_back(id);
      }
    }
    const auto& results = graph.body(0).results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      result_of_[results[i]].push_back(static_cast<int>(i));
    }
    for (const FlatNode& node : graph.nodes) {
      if (is_final(node)) finals_[at(node.region)] = describe(node);
    }
    for (const auto& [parameter, result] : donated) donate(parameter, result);
  }

  std::vector<std::optional<FinalRegion>> take() { return std::move(finals_); }

 private:
  bool is_final(const FlatNode& node) const {
    if (node.kind != FlatKind::kRegion || node.body != 0) return false;
    const int id = static_cast<int>(&node - graph_.nodes.data());
    for (int i = 0; i < static_cast<int>(node.types.size()); ++i) {
      const auto result = result_of_.find({id, i});
      // A value that is two results would need two memories.
      if (readers_.contains({id, i}) || result == result_of_.end() ||
          result->second.size() != 1) {
        return false;
      }
    }
    return true;
  }

  FinalRegion describe(const FlatNode& node) const {
    const int id = static_cast<int>(&node - graph_.nodes.data());
    FinalRegion found;
    for (int i = 0; i < static_cast<int>(node.types.size()); ++i) {
      found.results.push_back(result_of_.at({id, i})[0]);
    }
    return found;
  }

  bool is_final(int id) const {
    const FlatNode& node = graph_.node(id);
    return node.kind == FlatKind::kRegion && finals_[at(node.region)];
  }

  void donate(std::size_t parameter, std::size_t result) {
    const Endpoint value = graph_.body(0).results[result];
    if (!is_final(value.node)) return;
    const FlatNode& writer = graph_.node(value.node);
    FinalRegion& region = *finals_[at(writer.region)];
    const Endpoint argument = argument_of(parameter);
    const auto readers = readers_.find(argument);
    // The writer may overwrite the argument if it is read by the writer itself
    // and by regions that are not final, all of which have run by then. There
    // is no order among final regions, and a Call or a Switch passes the tensor
    // on to readers that are not looked for here.
    const bool is_free =
        !result_of_.contains(argument) &&
        (readers == readers_.end() ||
         std::all_of(readers->second.begin(), readers->second.end(),
                     [&](int id) {
                       return id == value.node ||
                              (graph_.node(id).kind == FlatKind::kRegion &&
                               !is_final(id));
                     }));
    if (!is_free) {
      // The result gets memory of its own; the executable copies it to where it
      // belongs when all readers are done.
      region.results[at(value.output)] = -1;
      return;
    }
    const auto input =
        std::find(writer.inputs.begin(), writer.inputs.end(), argument);
    // A plan that does not read the argument need not be told.
    if (input == writer.inputs.end()) return;
    region.donated.emplace_back(input - writer.inputs.begin(), value.output);
  }

  // The node may be missing where nothing reads the argument.
  Endpoint argument_of(std::size_t parameter) const {
    for (const int id : graph_.body(0).parameters) {
      if (graph_.node(id).index == static_cast<int>(parameter)) return {id, 0};
    }
    return {};
  }

  const FlatGraph& graph_;
  std::map<Endpoint, std::vector<int>> readers_;
  std::map<Endpoint, std::vector<int>> result_of_;
  std::vector<std::optional<FinalRegion>> finals_;
};

}  // namespace

std::vector<std::optional<FinalRegion>> find_final_regions(
    const FlatGraph& graph, const Donations& donated) {
  return Finder(graph, donated).take();
}

}  // namespace weft
