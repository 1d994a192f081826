// What a machine with trusted execution does for an enclave: it says what
// program runs, signs what the program says, and keeps its secrets.
//
// This is the seam that hardware would take: an implementation over SGX or TDX
// asks the processor for a quote where the software platform signs with a key
// in a file. The software platform keeps honest people honest, and no one else:
// who owns the machine can read its memory and its key. docs/market.md says
// what that means.
//
// Threads: one thread uses an object.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "weft/market/job.h"

namespace weft::market {

// What an enclave asks a key service for, over a channel that only it can read.
struct KeyRequest {
  std::int64_t job = 0;
  Digest nonce{};        // of its assignment
  Digest measurement{};  // of itself
  PublicKey channel{};   // X25519, made for this request
  std::vector<Digest> contents;

  bool operator==(const KeyRequest&) const = default;
};
std::string bytes_of(const KeyRequest& request);
bool is_signed(const KeyRequest& request, const Signature& signature,
               const PublicKey& machine);

class Platform {
 public:
  virtual ~Platform() = default;

  virtual PublicKey machine() const = 0;
  // The digest of the program that runs and of what it was started with. The
  // platform finds it out; the program does not tell it.
  virtual Digest measurement() const = 0;
  // Signs what the enclave says, with the measurement of the platform's own
  // finding in it.
  virtual Signature quote(Report& report) const = 0;
  virtual Signature quote(KeyRequest& request) const = 0;
  virtual Signature quote(Verdict& verdict) const = 0;
  // What was sealed for this machine (sealed_result.h). Throws Error(kDataLoss)
  // for a file that was not.
  virtual std::string unseal(const std::filesystem::path& path) const = 0;
};

// What is measured: the program's file, and the texts that decide what it does.
// Libraries that the program loads are not in it.
Digest measurement_of(const std::filesystem::path& program,
                      const std::string& recipe, const std::string& task);

// The program of this process.
std::filesystem::path own_program();

// A machine whose key lies in a file that only its owner may read.
std::unique_ptr<Platform> software_platform(
    const std::filesystem::path& machine_key, const std::string& recipe,
    const std::string& task);

}  // namespace weft::market
