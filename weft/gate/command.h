// Runs a program of the owner's that is asked something: who labels points, who
// is told of verdicts.
//
// Threads: thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Gives `input` to command[0], looked up on the PATH, with the rest as its
// arguments, in `folder`; returns what it wrote to standard output. What it
// wrote to standard error is kept from the terminal, and told by its end if it
// fails. Throws Error(kUnavailable) for a program that is not there, fails, or
// writes more than `limit` bytes.
std::string ask_command(const std::vector<std::string>& command,
                        std::string_view input,
                        const std::filesystem::path& folder,
                        std::size_t limit = std::size_t{256} << 20);

}  // namespace weft
