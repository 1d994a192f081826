#include "weft/market/challenge.h"

namespace weft::market {
namespace {

constexpr std::string_view kSecretContext = "weft market secret";

// The last of the chain, which is told last.
Digest last_secret(const SigningKey& payer, const Digest& market,
                   std::int64_t nonce) {
  // Signatures of Ed25519 are functions of key and message, and nobody else can
  // make them.
  const Signature signature =
      payer.sign(kSecretContext, fmt::format("{} {}", to_hex(market), nonce));
  return digest_of_bytes(to_hex(signature));
}

}  // namespace

Digest commitment_to(const Digest& secret) {
  return digest_of_bytes("weft market commitment\n" + to_hex(secret));
}

Digest first_commitment(const SigningKey& payer, const Digest& market,
                        std::int64_t nonce) {
  Digest secret = last_secret(payer, market, nonce);
  for (int i = 0; i < kSecretsOfJob; ++i) secret = commitment_to(secret);
  return secret;
}

Digest next_secret(const SigningKey& payer, const State& state,
                   std::int64_t number) {
  const Job& job = entry(state.jobs, number, "job");
  const auto account = state.accounts.find(payer.public_key());
  const std::int64_t nonces =
      account == state.accounts.end() ? 0 : account->second.nonce;
  // The newest jobs are the likeliest.
  for (std::int64_t nonce = nonces - 1; nonce >= 0; --nonce) {
    Digest secret = last_secret(payer, state.market, nonce);
    for (int i = 0; i < kSecretsOfJob; ++i) {
      const Digest commitment = commitment_to(secret);
      if (commitment == job.checking.commitment) return secret;
      secret = commitment;
    }
  }
  throw Error(ErrorCode::kInvalidArgument, "reveal",
              "job {} is committed to no secret of {}", number,
              short_name(payer.public_key()))
      .hint("it takes the key that submitted the job");
}

}  // namespace weft::market
