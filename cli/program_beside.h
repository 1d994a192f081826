// Programs of Weft beside this one. `weft` holds what trains and uses models;
// what most people never call, or what needs many packages, is a program of its
// own, so that a first build need not wait for it.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::cli {

// Where the program `name` is, or would be.
std::filesystem::path program_beside(const std::string& name);

// This process becomes the program `name`, given these words.
// Throws Error(kUnavailable) with `hint` if there is none.
[[noreturn]] void become(const std::string& name,
                         std::vector<std::string> words,
                         const std::string& hint);

// Declares `verb` as one whose words, --help among them, are the program's to
// read, which is given the verb's name and --color before them.
void hand_over(CLI::App& verb, const std::string& program);

}  // namespace weft::cli
