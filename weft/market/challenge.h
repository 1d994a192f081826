// Secrets of a payer by which stages are drawn: each is the digest of the next,
// and a job begins committed to the digest of the first (Lamport, "Password
// authentication with insecure communication", 1981). What was told last is
// what the next secret is held to, so that each report of a job is drawn from
// by a secret that its worker could not know.
//
// The chain follows from the payer's key and the nonce of the transaction that
// submits the job: nothing needs to be kept.
//
// Threads: pure functions.
#pragma once

#include "weft/market/state.h"

namespace weft::market {

// Reports of a job that can be drawn from.
inline constexpr int kSecretsOfJob = 32;

Digest commitment_to(const Digest& secret);
// What a job is committed to that the payer submits with this nonce.
Digest first_commitment(const SigningKey& payer, const Digest& market,
                        std::int64_t nonce);
// The secret that the job is committed to now. Throws Error(kInvalidArgument)
// where it is none of this payer's.
Digest next_secret(const SigningKey& payer, const State& state,
                   std::int64_t job);

}  // namespace weft::market
