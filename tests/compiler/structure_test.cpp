// Structures, cuts and parts of functions.
#include "weft/compiler/structure.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

#include "weft/compiler/replacement.h"
#include "weft/compiler/split_graph.h"
#include "weft/compiler/vertex_cut.h"
#include "weft/graph/inlining.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"

namespace weft::structure_test {
namespace {

Function function_of(const std::string& text) {
  return parse_graph(text).functions.at(0);
}

TEST(Structure, DoesNotDependOnTheOrderOfNodes) {
  const Function one = function_of(R"(func @f(%0: f32[4]) -> (f32[4]) {
    %1 = exp(%0) : f32[4]
    %2 = negate(%0) : f32[4]
    %3 = subtract(%1, %2) : f32[4]
    return %3
  })");
  const Function other = function_of(R"(func @g(%0 "x": f32[4]) -> (f32[4]) {
    %1 = negate(%0) : f32[4]
    %2 = exp(%0) : f32[4]
    %3 = subtract(%2, %1) : f32[4]
    return %3
  })");
  EXPECT_EQ(structural_hash(one), structural_hash(other));
  EXPECT_TRUE(have_one_structure(one, other));
}

TEST(Structure, TellsOperandsAttributesAndResultsApart) {
  const char* texts[] = {
      "%1 = subtract(%0, %0) : f32[4]\n return %1, %0",
      "%1 = add(%0, %0) : f32[4]\n return %1, %0",
      "%1 = add(%0, %0) : f32[4]\n return %0, %1",
      "%1 = exp(%0) : f32[4]\n %2 = add(%0, %1) : f32[4]\n return %2, %0",
      "%1 = exp(%0) : f32[4]\n %2 = add(%1, %0) : f32[4]\n return %2, %0",
      "%1 = cumsum(%0) {axis = 0} : f32[4]\n return %1, %0",
      ("%1 = cumsum(%0) {axis = 0, reverse = true} : f32[4]\n"
       " return %1, %0")};
  std::vector<Function> functions;
  for (const char* text : texts) {
    functions.push_back(
        function_of(fmt::format("func @f(%0: f32[4]) -> (f32[4], f32[4]) {{\n"
                                "{}\n}}",
                                text)));
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    for (std::size_t k = 0; k < functions.size(); ++k) {
      EXPECT_EQ(have_one_structure(functions[i], functions[k]), i == k);
      EXPECT_EQ(structural_hash(functions[i]) == structural_hash(functions[k]),
                i == k);
    }
  }
}

// A function drawn of additions, products and negations.
Function random_function(std::mt19937& random, int nodes) {
  FunctionBuilder builder("f");
  return builder.build([&] {
    std::vector<Value> values;
    for (int i = 0; i < 3; ++i) {
      values.push_back(builder.parameter({DType::kF32, {4}}));
    }
    const auto any = [&]() -> const Value& {
      return values[random() % values.size()];
    };
    for (int i = 0; i < nodes; ++i) {
      const auto kind = random() % 3;
      if (kind == 0) values.push_back(any() + any());
      if (kind == 1) values.push_back(any() * any());
      if (kind == 2) values.push_back(-any());
    }
    return std::vector{values.back()};
  });
}

// Equal hashes decide nothing: what is taken as equal was compared.
TEST(Structure, AgreesWithTheTextOfRandomFunctions) {
  std::mt19937 random(7);
  std::vector<std::pair<Function, std::string>> all;
  for (int i = 0; i < 300; ++i) {
    Function function = random_function(random, 4);
    // Without dead nodes, in one order: the text is then the structure.
    const Function plain = *replace_nodes(function, {});
    all.emplace_back(plain, to_string(plain));
  }
  for (const auto& [f, f_text] : all) {
    for (const auto& [g, g_text] : all) {
      if (f_text == g_text) {
        EXPECT_TRUE(have_one_structure(f, g));
      }
      if (have_one_structure(f, g)) {
        EXPECT_EQ(structural_hash(f), structural_hash(g));
      }
    }
  }
}

CutGraph chain(std::vector<std::int64_t> capacities) {
  CutGraph graph;
  const auto size = static_cast<int>(capacities.size());
  for (int i = 0; i < size; ++i) {
    graph.successors.push_back(i + 1 < size ? std::vector{i + 1}
                                            : std::vector<int>{});
  }
  graph.capacities = std::move(capacities);
  graph.sources = {0};
  graph.sinks = {size - 1};
  return graph;
}

TEST(VertexCut, OfAChainIsItsCheapestNode) {
  const VertexCut cut = min_vertex_cut(chain({3, 1, 2}));
  EXPECT_EQ(cut.nodes, std::vector{1});
  EXPECT_EQ(cut.capacity, 1);
  EXPECT_EQ(cut.is_upper, (std::vector{true, true, false}));
}

TEST(VertexCut, SaysWhereNoneIsAllowed) {
  const std::int64_t never = CutGraph::kNever;
  EXPECT_GE(min_vertex_cut(chain({never, never})).capacity, never);
}

// The cheapest way to declare nodes upper, by trying all: with a node is what
// leads to it, and cut is what leads out.
std::int64_t brute_force(const CutGraph& graph) {
  const std::size_t count = graph.capacities.size();
  const auto contains = [](unsigned set, int node) {
    return (set >> node & 1) != 0;
  };
  std::int64_t best = CutGraph::kNever;
  for (unsigned upper = 0; upper < (1u << count); ++upper) {
    bool is_closed = std::ranges::all_of(
        graph.sources, [&](int node) { return contains(upper, node); });
    std::int64_t capacity = 0;
    for (int node = 0; node < static_cast<int>(count); ++node) {
      bool leads_out =
          contains(upper, node) && std::ranges::count(graph.sinks, node) > 0;
      for (const int next : graph.successors[static_cast<std::size_t>(node)]) {
        is_closed =
            is_closed && (contains(upper, node) || !contains(upper, next));
        leads_out =
            leads_out || (contains(upper, node) && !contains(upper, next));
      }
      if (leads_out)
        capacity += graph.capacities[static_cast<std::size_t>(node)];
    }
    if (is_closed) best = std::min(best, capacity);
  }
  return best;
}

TEST(VertexCut, EqualsBruteForceOnSmallGraphs) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const int count = 2 + static_cast<int>(random() % 9);
    CutGraph graph;
    for (int i = 0; i < count; ++i) {
      std::vector<int> next;
      for (int k = i + 1; k < count; ++k) {
        if (random() % 3 == 0) next.push_back(k);
      }
      graph.successors.push_back(next);
      graph.capacities.push_back(static_cast<std::int64_t>(random() % 5));
    }
    graph.sources = {0};
    graph.sinks = {count - 1};
    const VertexCut cut = min_vertex_cut(graph);
    EXPECT_EQ(cut.capacity, brute_force(graph));
    std::int64_t capacity = 0;
    for (const int node : cut.nodes) {
      capacity += graph.capacities[static_cast<std::size_t>(node)];
    }
    EXPECT_EQ(capacity, cut.capacity);
    // What leads to an upper node is upper.
    for (std::size_t i = 0; i < graph.successors.size(); ++i) {
      for (const int next : graph.successors[i]) {
        if (cut.is_upper[static_cast<std::size_t>(next)]) {
          EXPECT_TRUE(cut.is_upper[i]);
        }
      }
    }
  }
}

// Parts put back where they were.
Function rejoined(const Function& function,
                  const std::vector<std::vector<NodeId>>& parts) {
  const Readers readers(function);
  std::vector<Replacement> replacements;
  for (const std::vector<NodeId>& nodes : parts) {
    const FunctionPart part = part_of(function, readers, nodes);
    replacements.push_back(
        {part.nodes, part.results, part.inputs, [part](const NewValue& values) {
           std::vector<Value> arguments;
           for (const ValueId id : part.inputs) arguments.push_back(values(id));
           return inlined_results(*current_context().builder(), part.function,
                                  arguments);
         }});
  }
  return *replace_nodes(function, replacements);
}

TEST(SplitGraph, RejoinedIsTheSame) {
  std::mt19937 random(11);
  std::vector<const RuleDef*> rules;
  for (const RuleDef& rule : rule_registry().all()) rules.push_back(&rule);
  for (int round = 0; round < 40; ++round) {
    const Function function = *replace_nodes(random_function(random, 60), {});
    for (const auto& parts :
         {split_graph(function, rules, 7), split_in_order(function, 7)}) {
      std::size_t count = 0;
      for (const auto& part : parts) {
        EXPECT_LE(part.size(), 7u);
        count += part.size();
      }
      EXPECT_EQ(count, function.nodes().size());
      EXPECT_TRUE(have_one_structure(rejoined(function, parts), function));
    }
  }
}

TEST(SplitGraph, HalvesHaveAQuarterAtLeast) {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    const Function function = *replace_nodes(random_function(random, 60), {});
    const std::size_t size = function.nodes().size();
    if (size < 8) continue;
    const auto parts = split_graph(function, {}, size - 1);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_GE(std::min(parts[0].size(), parts[1].size()), size / 4);
  }
}

}  // namespace
}  // namespace weft::structure_test
