// A profile as TensorBoard's profile plugin reads it (pip install xprof): an
// XSpace message, with the threads of this machine as the lines of one plane.
//
// Threads: pure functions, but for the file.
// Source:  OpenXLA, xplane.proto.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "weft/base/profile.h"

namespace weft {

// Spans are on the line of their thread, messages on lines that are called as
// their category, on as many as keep them apart. Quantities have no place there
// and are left out.
std::string xspace(std::span<const ProfileEvent> events);

// Writes "plugins/profile/NAME/weft.xplane.pb" below `folder`, where the plugin
// looks for the profiles of a run. Returns its path. Throws as write_file().
std::filesystem::path write_profile(const std::filesystem::path& folder,
                                    const std::string& name,
                                    std::span<const ProfileEvent> events);

}  // namespace weft
