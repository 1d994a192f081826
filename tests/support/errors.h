// Expecting a weft::Error by its code and by what its text says.
#pragma once

#include <gtest/gtest.h>
#include <initializer_list>
#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft::test {

// Runs `body`, which must throw an Error of `code` whose text holds each of
// `parts`.
template <class Body>
void expect_error(ErrorCode code, std::initializer_list<std::string> parts,
                  Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
    for (const auto& part : parts) {
      EXPECT_NE(std::string_view(error.what()).find(part),
                std::string_view::npos)
          << "'" << part << "' is not in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "no error was thrown";
}

// What `body` throws, as text.
template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace weft::test
