// An environment variable that has another value for a while.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace weft::test {

class EnvironmentValue {
 public:
  // Null unsets it.
  EnvironmentValue(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~EnvironmentValue() { set(before_ ? before_->c_str() : nullptr); }
  EnvironmentValue(const EnvironmentValue&) = delete;
  EnvironmentValue& operator=(const EnvironmentValue&) = delete;

 private:
  void set(const char* value) const {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace weft::test
