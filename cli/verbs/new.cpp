// weft new DATA: a first recipe for data of one's own, which is trained at
// once.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/train/new_recipe.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct NewArguments {
  std::string data;
  std::string file;
  bool only_writes = false;
};

// "cats.toml" for a folder or a file called cats.
fs::path default_file(const fs::path& data) {
  const fs::path whole = fs::weakly_canonical(data);
  return whole.stem().string() + ".toml";
}

// This process becomes the training, as if it had been typed.
[[noreturn]] void train_now(const fs::path& recipe) {
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  const std::string file = recipe.string();
  execl(program.c_str(), program.c_str(), "train", file.c_str(), nullptr);
  throw Error(ErrorCode::kUnavailable, program, "cannot be started: {}",
              std::strerror(errno));
}

void write_new(const NewArguments& arguments) {
  const fs::path file = arguments.file.empty() ? default_file(arguments.data)
                                               : fs::path(arguments.file);
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, file.string(),
                "stands there already")
        .hint("-o names another file; or weft train " +
              shell_word(file.string()));
  }
  const NewRecipe recipe = new_recipe(arguments.data);
  write_file(file, recipe.text);
  for (const std::string& line : recipe.findings) {
    fmt::print(stderr, "{}\n", printable(line));
  }
  fmt::print(stderr, "written: {}\n", file.string());
  if (!arguments.only_writes) train_now(file);
  fmt::print("next: weft train {}\n", shell_word(file.string()));
}

void add_new(CLI::App& verb) {
  auto arguments = std::make_shared<NewArguments>();
  verb.add_option("DATA", arguments->data,
                  "a folder of pictures in a folder per class or in shards, a "
                  "table (CSV, Parquet, JSON lines), tensors (safetensors, "
                  "HDF5), a text file, or a data set's folder")
      ->required();
  verb.add_option("-o,--output", arguments->file,
                  "the recipe that is written (DATA.toml)")
      ->type_name("FILE");
  verb.add_flag("--no-train", arguments->only_writes,
                "write the recipe and stop");
  verb.callback([arguments] { write_new(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_new(cli::VerbRegistry& verbs) {
  verbs.add({.name = "new",
             .summary = "Write a recipe for data of your own, and train",
             .order = 15,
             .add = cli::add_new});
}

}  // namespace weft
