#include "weft/serve/access.h"

#include <sodium.h>

#include "weft/base/error.h"

namespace weft::serve {

// Digests are compared, as they are equally long whatever is shown.
Access::Digest Access::digest(std::string_view token) {
  Digest result;
  crypto_generichash(result.data(), result.size(),
                     reinterpret_cast<const unsigned char*>(token.data()),
                     token.size(), nullptr, 0);
  return result;
}

Access::Access(std::string_view token) {
  if (sodium_init() < 0) {
    throw Error(ErrorCode::kUnavailable, "token", "libsodium does not start");
  }
  if (token.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "token", "it is empty");
  }
  token_ = digest(token);
}

bool Access::admits(std::string_view header) const {
  if (!token_) return true;
  constexpr std::string_view kScheme = "Bearer ";
  if (!header.starts_with(kScheme)) return false;
  const Digest shown = digest(header.substr(kScheme.size()));
  return sodium_memcmp(shown.data(), token_->data(), shown.size()) == 0;
}

}  // namespace weft::serve
