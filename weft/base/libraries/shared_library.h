// A library that is loaded when it is first asked for, so that programs start
// without it, and run where it is not installed.
//
// Threads: as the loader of the system, which takes turns.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft {

// How a library is found, and what its absence is told by.
struct LibraryPlaces {
  std::string name;                // "HiGHS"
  const char* variable = nullptr;  // of the environment: the only place, if set
  std::vector<std::string> files = {};  // tried in turn
  std::string how = {};                 // to get it, for the hint
  bool is_global = false;  // its symbols serve what it loads itself
};

class SharedLibrary {
 public:
  // Throws Error(kUnavailable) with the places that were tried, and `how`. The
  // library stays until the process ends.
  explicit SharedLibrary(LibraryPlaces places);

  // Throws Error(kUnavailable) for a library that has no such symbol.
  void* symbol(const char* name) const;
  template <class Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

 private:
  LibraryPlaces places_;
  void* library_ = nullptr;
};

// The folder of what this code is in: the program, or the library that a Python
// or another program has loaded.
std::filesystem::path code_folder();

}  // namespace weft
