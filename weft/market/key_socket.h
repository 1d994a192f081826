// A key service behind a socket of this machine: one line of JSON asks, one
// answers.
//
//   {"job":1,"nonce":"…","measurement":"…","channel":"…","contents":[…],
//    "signature":"…"}
//   {"box":"…"}   or   {"refused":"…"}
//
// Whoever may open the socket may ask; what is answered is sealed, so that it
// need not be trusted.
//
// Threads: one thread serves.
// Errors:  Error(kUnavailable) for a socket that cannot be made or reached.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "weft/market/key_service.h"

namespace weft::market {

// Answers one line with one line; never throws for what was asked.
std::string answer_line(KeyService& service, std::string_view line);
std::string request_line(const KeyRequest& request, const Signature& signature);

// Answers one after another until `stop` is set. `told` is called with why
// something was refused.
void serve_keys(const std::filesystem::path& socket, KeyService& service,
                const std::atomic<bool>& stop,
                const std::function<void(const std::string&)>& told);

// The box that the service behind the socket has for the request. Throws
// Error(kUnavailable) with the reason if it refuses.
std::string ask_keys(const std::filesystem::path& socket,
                     const KeyRequest& request, const Signature& signature);

}  // namespace weft::market
