// A rank's open door: lets in those ranks that are expected, each once, and
// turns all others away.
//
// Threads: caller synchronises.
#pragma once

#include <list>
#include <vector>

#include "weft/comm/tcp/greeting.h"
#include "weft/comm/tcp/meeting.h"

namespace weft::tcp {

// A rank that came in.
struct Arrived {
  Connection connection;
  Member member;
};

class Reception {
 public:
  // Ranks from `least` on are expected. All that is referred to must outlive
  // this.
  Reception(Socket& door, const Identity& self, int least,
            const MeetingOptions& options);
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  // Waits for all of them until the clock says `until`; they are in order.
  // Throws Error(kUnavailable) that names those who have not come.
  std::vector<Arrived> receive(double until);

 private:
  struct Guest {
    Greeting greeting;
    double until;  // when it must be known
  };

  Verdict judge(const PeerHello& hello) const;
  bool are_all_here() const;
  bool is_first() const { return self_.rank == 0; }
  void wait(double until);
  void open_door();
  void greet();
  // True when nothing more is expected of it as a guest.
  bool greet(Guest& guest);
  void miss_who_left();
  Error not_come() const;

  Socket* door_;
  const Identity& self_;
  const MeetingOptions& options_;
  std::size_t least_;
  std::list<Guest> guests_;                      // the oldest first
  std::vector<std::optional<Arrived>> arrived_;  // by rank
};

}  // namespace weft::tcp
