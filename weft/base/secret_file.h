// Files that their owner alone may read: keys.
//
// Threads: pure functions but for the files.
#pragma once

#include <filesystem>
#include <string_view>

namespace weft {

// Makes a file of mode 0600, where none may be: nobody else can have opened
// what was never another's. It lies on the disk when this returns. Throws
// Error(kUnavailable) with the system's reason, and leaves nothing.
void write_secret(const std::filesystem::path& path, std::string_view content);

// Throws Error(kInvalidArgument) for a file that others may read or write, as
// it keeps nothing secret, and Error(kUnavailable) for one that is not there.
void check_secret(const std::filesystem::path& path);

}  // namespace weft
