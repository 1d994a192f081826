// weft ops: what can be computed, and by what.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/report.h"
#include "cli/verb.h"

#include "weft/compiler/op_facts.h"
#include "weft/graph/registry.h"

namespace weft::cli {
namespace {

struct OpsArguments {
  std::string name;
  bool as_json = false;
};

std::vector<std::string> names(const std::vector<DType>& dtypes) {
  std::vector<std::string> found;
  for (const DType dtype : dtypes) found.emplace_back(to_string(dtype));
  return found;
}

Json as_json(const OpFacts& op) {
  return {{"name", op.name},         {"signature", op.signature},
          {"summary", op.summary},   {"dtypes", names(op.dtypes)},
          {"gradient", op.gradient}, {"batching", op.batching},
          {"kernels", op.kernels}};
}

void print_one(const OpFacts& op) {
  fmt::print("{}{}\n{}\n\n", op.name, op.signature, op.summary);
  fmt::print("dtypes    {}\n", fmt::join(names(op.dtypes), " "));
  fmt::print("gradient  {}\n", op.gradient);
  fmt::print("batching  {}\n", op.batching);
  fmt::print("kernels   {}\n", fmt::join(op.kernels, ", "));
}

void run(const OpsArguments& arguments) {
  const std::vector<OpFacts> ops =
      arguments.name.empty()
          ? all_op_facts()
          : std::vector{facts_of(op_registry().get(arguments.name))};
  if (arguments.as_json) {
    Json all = Json::array();
    for (const OpFacts& op : ops) all.push_back(as_json(op));
    print_json(all);
  } else if (!arguments.name.empty()) {
    print_one(ops[0]);
  } else {
    for (const OpFacts& op : ops) {
      fmt::print("{:<24} {}\n", op.name, op.summary);
    }
  }
}

void add_ops(CLI::App& verb) {
  auto arguments = std::make_shared<OpsArguments>();
  verb.add_option("NAME", arguments->name,
                  "one op: its dtypes, gradient, batching and kernels");
  verb.add_flag("--json", arguments->as_json, "print one JSON array");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_ops(cli::VerbRegistry& verbs) {
  verbs.add({.name = "ops",
             .summary = "Say what can be computed, and by what",
             .order = 80,
             .add = cli::add_ops});
}

}  // namespace weft
