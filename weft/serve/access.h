// Who may come in: whoever has the token.
//
// Threads: immutable.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace weft::serve {

class Access {
 public:
  // Everybody may.
  Access() = default;
  // Whoever shows `token` may. Throws Error(kInvalidArgument) for an empty one.
  explicit Access(std::string_view token);

  // Whether `header`, "Bearer TOKEN", shows the token. How long it takes says
  // nothing about how much of it is right.
  bool admits(std::string_view header) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest digest(std::string_view token);

  std::optional<Digest> token_;
};

}  // namespace weft::serve
