#include "cli/books/gate_terms.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "weft/gate/gate_file.h"

namespace weft::cli {

GateTerms GateTermsArguments::terms() const {
  if (!file.empty()) return load_gate_file(file).config.terms;
  return gate_terms({{"condition", condition},
                     {"reliability", reliability},
                     {"mode", mode},
                     {"adaptivity", adaptivity},
                     {"steps", steps},
                     {"difference", difference},
                     {"difference_known", is_difference_known}});
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
       {add("reliability", arguments.reliability), add("mode", arguments.mode),
        add("adaptivity", arguments.adaptivity), add("steps", arguments.steps),
        add("difference", arguments.difference)}) {
    option->needs(condition);
  }
  verb.add_flag("--difference-known", arguments.is_difference_known,
                summary("difference_known"))
      ->needs(condition);
}

}  // namespace weft::cli
