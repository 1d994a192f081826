#include "cli/program_beside.h"

#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <unistd.h>

#include "weft/base/error.h"

namespace weft::cli {

std::filesystem::path program_beside(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

void become(const std::string& name, std::vector<std::string> words,
            const std::string& hint) {
  const std::string program = program_beside(name).string();
  words.insert(words.begin(), program);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw Error(ErrorCode::kUnavailable, program, "cannot be run: {}",
              std::strerror(errno))
      .hint(hint);
}

void hand_over(CLI::App& verb, const std::string& program) {
  verb.set_help_flag();
  verb.prefix_command();
  verb.callback([&verb, program] {
    std::vector<std::string> words = verb.remaining();
    words.insert(words.begin(), verb.get_name());
    const CLI::Option* colour = verb.get_parent()->get_option("--color");
    if (colour->count() > 0) {
      words.insert(words.begin(), {"--color", colour->as<std::string>()});
    }
    become(program, std::move(words),
           fmt::format("bin/weft {} builds it", verb.get_name()));
  });
}

}  // namespace weft::cli
