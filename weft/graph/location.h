// Where in the user's program an op was called.
#pragma once

#include <source_location>
#include <string>

namespace weft {

struct Location {
  const char* file = "";
  unsigned line = 0;
  const char* function = "";
  std::string scope;  // the layers around it: "conv2/batch_norm"

  Location() = default;
  Location(const std::source_location& where);  // NOLINT: implicit on purpose

  bool is_known() const { return line != 0; }
};

// "model.cpp:41, in mnist_cnn(), layer conv2".
std::string to_string(const Location& location);

// Names the layers that ops built inside it belong to, for error messages.
// Threads: per thread.
class LayerScope {
 public:
  explicit LayerScope(const std::string& name);
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

  static const std::string& current();

 private:
  std::size_t outer_size_;
};

}  // namespace weft
