// The kinds of transactions: one file of transactions/ for each.
//
// Threads: immutable.
#pragma once

#include <string>
#include <vector>

#include "weft/base/registry.h"
#include "weft/market/fields.h"
#include "weft/market/state.h"

namespace weft::market {

struct TransactionDef {
  std::string name;     // "vote"
  std::string summary;  // "Approve or reject a proposal"
  std::vector<FieldSpec> fields = {};
  // Checks everything before it changes anything: what throws has done nothing.
  // Throws Error(kInvalidArgument) with the reason for what is refused.
  void (*apply)(State& state, const Action& action) = nullptr;
};

using TransactionRegistry = Registry<TransactionDef>;

}  // namespace weft::market

namespace weft {

// It is filled from the files of transactions/.
const market::TransactionRegistry& market_transaction_registry();

}  // namespace weft
