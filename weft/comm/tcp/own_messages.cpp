#include "weft/comm/tcp/own_messages.h"

namespace weft::tcp {

void OwnMessages::start(Transfer& transfer, std::vector<Outcome>& outcomes) {
  const Tag tag = transfer.route().tag;
  Flow& flow = flows_[tag];
  if (transfer.kind() == Transfer::Kind::kSend) {
    flow.messages.emplace_back(transfer.data(),
                               transfer.data() + transfer.bytes());
    outcomes.push_back({&transfer, transfer.bytes()});
  } else {
    flow.waiting.push_back(&transfer);
  }
  if (!flow.messages.empty() && !flow.waiting.empty()) {
    outcomes.push_back(copied(*flow.waiting.front(), flow.messages.front()));
    flow.waiting.pop_front();
    flow.messages.pop_front();
  }
  if (flow.messages.empty() && flow.waiting.empty()) flows_.erase(tag);
}

void OwnMessages::forget(const Transfer& transfer) {
  const auto flow = flows_.find(transfer.route().tag);
  if (flow != flows_.end()) std::erase(flow->second.waiting, &transfer);
}

}  // namespace weft::tcp
