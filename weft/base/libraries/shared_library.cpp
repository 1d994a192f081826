#include "weft/base/libraries/shared_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <utility>

#include "weft/base/error.h"

namespace weft {

SharedLibrary::SharedLibrary(LibraryPlaces places)
    : places_(std::move(places)) {
  const char* given =
      places_.variable == nullptr ? nullptr : std::getenv(places_.variable);
  if (given != nullptr) places_.files = {given};
  Error missing(ErrorCode::kUnavailable, places_.name,
                "there is no library of it");
  for (const std::string& file : places_.files) {
    library_ =
        dlopen(file.c_str(),
               RTLD_NOW | (places_.is_global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (library_ != nullptr) return;
    // It names the file, also where the file needs another that is not there.
    missing.detail(dlerror());
  }
  throw std::move(missing.hint(places_.how));
}

void* SharedLibrary::symbol(const char* name) const {
  if (void* found = dlsym(library_, name)) return found;
  throw Error(ErrorCode::kUnavailable, places_.name, "the library has no {}",
              name)
      .hint(places_.how);
}

std::filesystem::path code_folder() {
  Dl_info info{};
  link_map* loaded = nullptr;
  const int is_found =
      dladdr1(reinterpret_cast<const void*>(&code_folder), &info,
              reinterpret_cast<void**>(&loaded), RTLD_DL_LINKMAP);
  WEFT_CHECK(is_found != 0);
  // The program itself has no name there.
  const std::filesystem::path file =
      loaded->l_name[0] == '\0'
          ? std::filesystem::read_symlink("/proc/self/exe")
          : std::filesystem::absolute(loaded->l_name);
  return file.parent_path();
}

}  // namespace weft
