// weft completion SHELL: what a shell needs to complete verbs, options and keys
// of recipes when Tab is pressed. It is made of the verbs that there are.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/books.h"
#include "cli/completed_verb.h"
#include "cli/verb.h"

#include "weft/train/recipe/keys.h"

namespace weft::cli {
namespace {

// The verbs below `prefix`, "" or "inspect ".
std::vector<std::string> names_below(const std::vector<CompletedVerb>& verbs,
                                     const std::string& prefix) {
  std::vector<std::string> names;
  for (const CompletedVerb& verb : verbs) {
    const std::string& name = verb.name;
    if (!name.starts_with(prefix)) continue;
    const std::string rest = name.substr(prefix.size());
    if (rest.find(' ') == std::string::npos) names.push_back(rest);
  }
  return names;
}

// Each key with the sign that comes before its value.
std::vector<std::string> settings() {
  std::vector<std::string> all;
  for (const RecipeKey& key : recipe_keys()) all.push_back(key.path() + "=");
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

std::string bash_script(const std::vector<CompletedVerb>& verbs) {
  std::string cases;
  for (const CompletedVerb& verb : verbs) {
    std::vector<std::string> words = names_below(verbs, verb.name + " ");
    for (const auto& [name, summary] : verb.options) words.push_back(name);
    cases += fmt::format("    '{}') words='{}' ;;\n", verb.name,
                         fmt::join(words, " "));
  }
  return fmt::format(
      R"(# weft completion bash
_weft() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local verb="${{COMP_WORDS[1]}}" words=''
  # Bash takes the sign in KEY=VALUE for a word of its own.
  if [[ "$before" == --set ]]; then
    COMPREPLY=($(compgen -W '{2}' -- "$word"))
    compopt -o nospace 2> /dev/null
    return
  fi
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{0}' -- "$word"))
    return
  fi
  case "$verb ${{COMP_WORDS[2]}}" in
    {3}) ((COMP_CWORD > 2)) && verb="$verb ${{COMP_WORDS[2]}}" ;;
  esac
  case "$verb" in
{1}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  # Names of files have blanks.
  local IFS=$'\n'
  COMPREPLY+=($(compgen -f -- "$word"))
}}
complete -o filenames -F _weft weft bin/weft
)",
      fmt::join(names_below(verbs, ""), " "), cases, fmt::join(settings(), " "),
      [&] {
        std::vector<std::string> inner;
        for (const CompletedVerb& verb : verbs) {
          if (verb.name.find(' ') != std::string::npos) {
            inner.push_back("'" + verb.name + "'");
          }
        }
        return fmt::format("{}", fmt::join(inner, " | "));
      }());
}

std::string zsh_script(const std::vector<CompletedVerb>& verbs) {
  return "#compdef weft\nautoload -Uz compinit bashcompinit\ncompinit\n"
         "bashcompinit\n" +
         bash_script(verbs);
}

// Text between quotes of fish.
std::string fish_text(std::string text) {
  std::erase(text, '\\');
  std::ranges::replace(text, '\'', '"');
  return text;
}

std::string fish_script(const std::vector<CompletedVerb>& verbs) {
  std::string script = "# weft completion fish\n";
  for (const CompletedVerb& verb : verbs) {
    const std::size_t space = verb.name.find(' ');
    const std::string above = verb.name.substr(0, space);
    const std::string when =
        space == std::string::npos
            ? "__fish_use_subcommand"
            : fmt::format("__fish_seen_subcommand_from {}", above);
    script += fmt::format(
        "complete -c weft -n '{}' -a '{}' -d '{}'\n", when,
        space == std::string::npos ? verb.name : verb.name.substr(space + 1),
        fish_text(verb.summary));
    for (const auto& [name, summary] : verb.options) {
      script += fmt::format(
          "complete -c weft -n '__fish_seen_subcommand_from {}' -l {} -d "
          "'{}'\n",
          above, name.substr(2), fish_text(summary));
    }
  }
  script += fmt::format(
      "complete -c weft -n '__fish_seen_subcommand_from train inspect' -l set "
      "-x -a '{}'\n",
      fmt::join(settings(), " "));
  return script;
}

// With those that weft-books has below its own. A clone builds it when it is
// first called; until then its verbs are completed without what hangs below.
std::vector<CompletedVerb> all_verbs(const CLI::App& app) {
  std::vector<CompletedVerb> verbs = completed_verbs(app);
  try {
    for (CompletedVerb& verb : listed_by(kBooksProgram)) {
      if (verb.name.find(' ') != std::string::npos) {
        verbs.push_back(std::move(verb));
      }
    }
  } catch (const Error& error) {
    fmt::print(stderr,
               "note: gate and market are completed without what hangs below "
               "them: {}; bin/weft gate --help builds it\n",
               error.what());
  }
  return verbs;
}

void add_completion(CLI::App& verb) {
  auto shell = std::make_shared<std::string>();
  verb.add_option("SHELL", *shell, "bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->required();
  verb.footer(
      "bash: source <(weft completion bash), in ~/.bashrc\n"
      "zsh:  source <(weft completion zsh), in ~/.zshrc\n"
      "fish: weft completion fish > ~/.config/fish/completions/weft.fish");
  verb.callback([&verb, shell] {
    const auto verbs = all_verbs(*verb.get_parent());
    fmt::print("{}", *shell == "bash"  ? bash_script(verbs)
                     : *shell == "zsh" ? zsh_script(verbs)
                                       : fish_script(verbs));
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_completion(cli::VerbRegistry& verbs) {
  verbs.add({.name = "completion",
             .summary = "Print what a shell completes weft's verbs by",
             .order = 120,
             .add = cli::add_completion});
}

}  // namespace weft
