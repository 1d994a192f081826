#include "cli/gate_terms.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "weft/gate/gate_file.h"

namespace weft::cli {

GateTerms GateTermsArguments::terms() const {
  if (!file.empty()) return load_gate_file(file).config.terms;
  return {.condition = parse_gate_condition(condition),
          .reliability = reliability,
          .mode = gate_mode(mode),
          .adaptivity = adaptivity_level(adaptivity),
          .steps = steps,
          .difference = difference,
          .is_difference_known = is_difference_known};
}

void add_gate_terms(CLI::App& verb, GateTermsArguments& arguments) {
  const auto summary = [](std::string_view name) {
    for (const OptionSpec& option : gate_options()) {
      if (option.name == name) return option.summary;
    }
    return std::string();
  };
  const auto add = [&](const std::string& name, auto& value) {
    std::string words = name;
    std::ranges::replace(words, '_', '-');
    return verb.add_option("--" + words, value, summary(name));
  };
  auto* file = verb.add_option("GATE", arguments.file,
                               "a gate file, instead of what follows");
  auto* condition = add("condition", arguments.condition)->excludes(file);
  for (CLI::Option* option :
       {add("reliability", arguments.reliability)
            ->check(CLI::Range(1e-9, 1 - 1e-12)),
        add("mode", arguments.mode), add("adaptivity", arguments.adaptivity),
        add("steps", arguments.steps)->check(CLI::Range(1, 1'000'000)),
        add("difference", arguments.difference)
            ->check(CLI::Range(0.0, 0.999999))}) {
    option->needs(condition);
  }
  verb.add_flag("--difference-known", arguments.is_difference_known,
                summary("difference_known"))
      ->needs(condition);
}

}  // namespace weft::cli
