// Random words that nobody can foretell who lacks the key: what a promise of
// privacy rests on must not follow from a seed that stands in a recipe.
//
// ChaCha20 (RFC 8439) under a key that is drawn from the system: word i of
// stream s is a function of the key, s and i, so that whoever has the key, and
// nobody else, draws the same again.
//
// Threads: pure functions.
// Cost:    about 1 ns a word.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace weft {

struct SecretKey {
  std::array<std::uint8_t, 32> bytes{};

  bool operator==(const SecretKey&) const = default;
};

// From the system's cryptographic generator. Throws Error(kUnavailable).
SecretKey drawn_key();

// A file that its owner alone may read. read_key() returns nothing where there
// is none, and throws Error(kDataLoss) for one that holds something else and
// Error(kInvalidArgument) for one that others may read.
void write_key(const std::filesystem::path& path, const SecretKey& key);
std::optional<SecretKey> read_key(const std::filesystem::path& path);

// The words of a stream, from its beginning.
void fill_words(std::span<std::uint32_t> words, const SecretKey& key,
                std::uint64_t stream);
void fill_words(std::span<std::uint64_t> words, const SecretKey& key,
                std::uint64_t stream);

}  // namespace weft
