#include "weft/comm/transport/sim_flow.h"

namespace weft {

SimMessage& SimFlow::take(Place& own, Place& other) {
  if (own != messages_.end()) return *own++;
  SimMessage& message = messages_.emplace_back();
  if (other == messages_.end()) --other;
  return message;
}

void SimFlow::withdraw(const SimMessage& message) {
  // Only the last ones are not sent, so that the search begins there.
  Place place = unsent_;
  while (&*place != &message) ++place;
  if (place == unsent_) ++unsent_;
  messages_.erase(place);
}

SimMessage* SimFlow::over() {
  if (messages_.empty()) return nullptr;
  SimMessage& first = messages_.front();
  return first.has_arrived && first.is_claimed ? &first : nullptr;
}

}  // namespace weft
