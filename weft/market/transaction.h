// What somebody asks a market to do, signed.
//
//   {"market":"3f1c…","account":"90ab…","nonce":7,"do":"vote","proposal":3,
//    "approve":true}
//
// The text itself is what is signed. It names the market, so that it is good in
// no other, and counts: an account's first transaction has nonce 0, and each is
// taken once, in this order.
//
// Threads: value types and pure functions.
// Errors:  Error(kInvalidArgument) for what is none.
#pragma once

#include <string>
#include <string_view>

#include "weft/market/fields.h"
#include "weft/market/keys.h"

namespace weft::market {

inline constexpr std::size_t kMostTransactionBytes = std::size_t{1} << 14;

struct Transaction {
  std::string text;
  Signature signature{};

  bool operator==(const Transaction&) const = default;
};

struct TransactionDef;

// What a text says.
struct Request {
  Digest market{};
  PublicKey account{};
  std::int64_t nonce = 0;
  const TransactionDef* def = nullptr;
  Fields fields;  // complete
};

// Does not look at the signature.
Request parse_request(std::string_view text);
bool is_signed(const Transaction& transaction, const PublicKey& account);

// Completes the fields first.
Transaction make_transaction(const SigningKey& key, const Digest& market,
                             std::int64_t nonce, std::string_view what,
                             Fields fields = {});

}  // namespace weft::market
