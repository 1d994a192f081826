// What an association can decide on. Its kinds and their fields are fixed: a
// proposal calls nothing else.
//
// Threads: caller synchronises.
#pragma once

#include "weft/market/state.h"

namespace weft::market {

// Those that say what is to be done, which a proposal and its execution repeat.
const std::vector<FieldSpec>& payload_fields();
Digest payload_digest(const Fields& fields);
ProposalKind proposal_kind(const Fields& fields);

// A key that was left out is all zeros, and nobody has it: what such an account
// is given is lost. Throws Error(kInvalidArgument) for a payload without its
// keys, which no new block takes; blocks of before may have taken some.
void check_names_all(const Fields& fields);
// Throws Error(kInvalidArgument) for what could not be done now.
void check_payload(const State& state, std::int64_t association,
                   const Fields& fields);
// Does what was decided, which check_payload() lets pass.
void carry_out(State& state, std::int64_t association, const Fields& fields,
               std::vector<std::string>& notes);

}  // namespace weft::market
