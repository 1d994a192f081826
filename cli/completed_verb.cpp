#include "cli/completed_verb.h"

#include <array>
#include <cstdio>
#include <fmt/core.h>
#include <unistd.h>

#include "cli/program_beside.h"
#include "cli/terminal.h"

#include "weft/base/error.h"

namespace weft::cli {
namespace {

void collect(const CLI::App& app, const std::string& prefix,
             std::vector<CompletedVerb>& verbs) {
  for (const CLI::App* each :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    CompletedVerb verb{.name = prefix + each->get_name(),
                       .summary = each->get_description(),
                       .options = {}};
    for (const CLI::Option* option : each->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        verb.options.emplace_back("--" + name, option->get_description());
      }
    }
    const std::string below = verb.name + " ";
    verbs.push_back(std::move(verb));
    collect(*each, below, verbs);
  }
}

std::string output_of(const std::string& program) {
  const std::string path = program_beside(program).string();
  const std::string command = shell_word(path) + " --list-verbs";
  FILE* output = nullptr;
  if (access(path.c_str(), X_OK) == 0) {
    // The path is quoted. NOLINTNEXTLINE(bugprone-command-processor)
    output = popen(command.c_str(), "r");
  }
  if (!output) {
    throw Error(ErrorCode::kUnavailable, path, "cannot be run");
  }
  std::string text;
  std::array<char, 4096> buffer;
  while (const std::size_t count =
             fread(buffer.data(), 1, buffer.size(), output)) {
    text.append(buffer.data(), count);
  }
  if (pclose(output) != 0) {
    throw Error(ErrorCode::kUnavailable, path, "has not listed its verbs");
  }
  return text;
}

}  // namespace

std::vector<CompletedVerb> completed_verbs(const CLI::App& app) {
  std::vector<CompletedVerb> verbs;
  collect(app, "", verbs);
  return verbs;
}

void print_completed(const std::vector<CompletedVerb>& verbs) {
  for (const CompletedVerb& verb : verbs) {
    fmt::print("{}\t{}\n", verb.name, verb.summary);
    for (const auto& [name, summary] : verb.options) {
      fmt::print("{}\t{}\n", name, summary);
    }
  }
}

std::vector<CompletedVerb> listed_by(const std::string& program) {
  const std::string text = output_of(program);
  std::vector<CompletedVerb> verbs;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    begin = end == std::string::npos ? text.size() : end + 1;
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;  // a description goes on
    std::string name = line.substr(0, tab), summary = line.substr(tab + 1);
    if (!name.starts_with("--")) {
      verbs.push_back({std::move(name), std::move(summary), {}});
    } else if (!verbs.empty()) {
      verbs.back().options.emplace_back(std::move(name), std::move(summary));
    }
  }
  return verbs;
}

}  // namespace weft::cli
