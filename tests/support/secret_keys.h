// Keys of which a test knows that they are the same, or others.
#pragma once

#include "weft/privacy/noise/secret_key.h"

namespace weft::test {

inline SecretKey key_of(std::uint8_t byte) {
  SecretKey key;
  key.bytes.fill(byte);
  return key;
}

}  // namespace weft::test
