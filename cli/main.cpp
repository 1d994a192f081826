// weft, which trains, measures and explains models, and weft-books: programs
// that differ by their verbs alone. See cli/verb.h.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fmt/core.h>
#include <new>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "cli/completed_verb.h"
#include "cli/error_text.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/cpu.h"
#include "weft/base/error.h"
#include "weft/base/version.h"

namespace weft::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
// Shells say 128 + SIGINT for a program that was interrupted.
constexpr int kInterrupted = 130;

int exit_code(ErrorCode code) {
  switch (code) {
    // These are what the user can mend: another argument, file or machine.
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
    case ErrorCode::kUnavailable:
    case ErrorCode::kDataLoss:
      return kBadUsage;
    case ErrorCode::kCancelled:
      return kInterrupted;
    case ErrorCode::kExhausted:
    case ErrorCode::kNumeric:
    case ErrorCode::kInternal:
      break;
  }
  return kFailed;
}

int report(int code, std::string_view text) {
  // Where nobody can be told, the code still tells: fmt::print would throw.
  std::fputs(error_text(text, has_colours(STDERR_FILENO)).c_str(), stderr);
  return code;
}

void add_verbs(CLI::App& app) {
  std::vector<const VerbDef*> verbs;
  for (const VerbDef& verb : verb_registry().all()) verbs.push_back(&verb);
  // What hangs below a verb is added when that is there.
  std::ranges::stable_sort(verbs, {}, [](const VerbDef* verb) {
    return std::pair(verb->name.find(' ') != std::string::npos, verb->order);
  });
  for (const VerbDef* verb : verbs) {
    const std::size_t space = verb->name.find(' ');
    if (space == std::string::npos) {
      verb->add(*app.add_subcommand(verb->name, verb->summary));
      continue;
    }
    const VerbDef& above = verb_registry().get(verb->name.substr(0, space));
    verb->add(
        *app.get_subcommand(above.name)
             ->add_subcommand(verb->name.substr(space + 1), verb->summary));
  }
}

// Where a verb is wanted, and the word that stands there: "" for none.
struct WantedVerb {
  const CLI::App* above;
  std::string word;
};

std::vector<const CLI::App*> verbs_of(const CLI::App& above) {
  return above.get_subcommands([](const CLI::App*) { return true; });
}

WantedVerb wanted_verb(const CLI::App& app, int argc, char** argv) {
  const CLI::App* above = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--color") ++i;
    if (word.starts_with('-')) continue;
    const auto verbs = verbs_of(*above);
    const auto meant = std::ranges::find(verbs, word, &CLI::App::get_name);
    if (meant == verbs.end()) return {above, word};
    above = *meant;
  }
  return {above, ""};
}

std::string unknown_verb(const WantedVerb& wanted) {
  std::vector<std::string> known;
  for (const CLI::App* verb : verbs_of(*wanted.above)) {
    known.push_back(verb->get_name());
  }
  const std::string near = nearest(wanted.word, known);
  return fmt::format(
      "unknown verb '{}'{}", wanted.word,
      near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

// Whoever names no verb where one is wanted is shown what there are.
int report_no_verb(const CLI::App& app, const CLI::App& above) {
  std::fputs(above.help(&above == &app ? "" : app.get_name()).c_str(), stderr);
  return kBadUsage;
}

int run(int argc, char** argv) {
  CLI::App app("Weft trains and serves machine-learning models.", "weft");
  app.set_version_flag("--version", std::string("weft ") + kVersion);
  app.require_subcommand(1);
  app.add_option_function<std::string>(
         "--color",
         [](const std::string& choice) {
           choose_colours(choice == "auto"     ? Colours::kAuto
                          : choice == "always" ? Colours::kAlways
                                               : Colours::kNever);
         },
         "colours: auto has them in a terminal, unless NO_COLOR is set; "
         "always; never")
      // A line that is read no further than this is refused in these colours.
      ->trigger_on_parse()
      ->check(CLI::IsMember({"auto", "always", "never"}));
  // What `weft completion` asks programs beside it for.
  app.add_flag_callback("--list-verbs",
                        [&app] {
                          print_completed(completed_verbs(app));
                          throw CLI::Success();
                        })
      ->group("");
  app.footer(
      "Exit codes: 0 done, 1 failed, 2 bad usage or input, "
      "130 interrupted.\nA first run: weft train recipes/digits.toml");
  try {
    instruction_set();  // complains of WEFT_CPU before anything is done
    add_verbs(app);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& asked) {  // --help, --version
    // These are thrown too, as a kind of parse error: they must be caught
    // first.
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    if (error.get_name() == "RequiredError") {
      const WantedVerb wanted = wanted_verb(app, argc, argv);
      if (wanted.above->get_require_subcommand_min() > 0) {
        if (wanted.word.empty()) return report_no_verb(app, *wanted.above);
        text = unknown_verb(wanted);
      }
    }
    // The hint names the verb, if the line was read as far as that.
    const auto verbs = app.get_subcommands();
    return report(kBadUsage,
                  fmt::format("{}\n  hint: weft{} --help", text,
                              verbs.empty() ? "" : " " + verbs[0]->get_name()));
  } catch (const AnsweredWith& answered) {
    return answered.exit_code;
    // Another process has said what went wrong.
  } catch (const Reported& reported) {
    return exit_code(reported.code);
  } catch (const Error& error) {
    return report(exit_code(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    // There is no memory for a longer message.
    return report(kFailed, "out of memory");
  } catch (const std::exception& error) {
    return report(kFailed, error.what());
  }
}

// What was printed may still be in a buffer, and be lost on a full disk.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const Error error(ErrorCode::kUnavailable, "standard output",
                    "cannot be written: {}",
                    std::generic_category().message(errno));
  return code == 0 ? report(kFailed, error.what()) : code;
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) {
  return weft::cli::flushed(weft::cli::run(argc, argv));
}
