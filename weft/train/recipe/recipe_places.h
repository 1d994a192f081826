// Where the parts of a recipe were written: "digits.toml:12:8", or the --set
// that gave them. For what is found to be wrong with a recipe only once data
// and model are there, when its text is long gone.
//
// Threads: a value type.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft {

class RecipePlaces {
 public:
  void add(std::string path, std::string place);
  // The place of `path` ("optimizer.groups.0"), or of what is nearest around
  // it; empty for a recipe that a program has made.
  std::string find(std::string_view path) const;

  // Runs `body`. An Error(kInvalidArgument) out of it is about the section, or,
  // where the error names a path within it, about that: its place is added.
  template <class Body>
  decltype(auto) blame(std::string_view section, Body&& body) const {
    try {
      return body();
    } catch (Error& error) {
      tell(section, error);
      throw;
    }
  }

  // Recipes that say the same are equal wherever they say it.
  bool operator==(const RecipePlaces&) const { return true; }

 private:
  void tell(std::string_view section, Error& error) const;

  std::map<std::string, std::string, std::less<>> places_;
};

}  // namespace weft
