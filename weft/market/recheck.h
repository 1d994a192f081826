// What a checker's enclave does: computes stages of another's training again,
// and says whether they hold.
//
// Looked at are the beginning, which follows from the recipe; each stage that
// was drawn; and how what was handed in follows from the last state and the
// best. What the worker has not opened, or cannot be read, does not hold.
//
// Threads: caller synchronises.
// Errors:  what is no fault of the checked worker's, such as keys that nobody
//          releases or a full disk, is thrown.
#pragma once

#include <string>

#include "weft/market/enclave.h"

namespace weft::market {

struct CheckResult {
  Verdict verdict;
  Signature signature{};
  std::string fault;  // why it does not hold
};

CheckResult check_training(const EnclaveOrder& order, const Platform& platform,
                           const AskKeys& ask);

}  // namespace weft::market
