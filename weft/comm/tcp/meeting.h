// How the ranks of a run find each other. The first listens at an address that
// all know. The others come there, say where they listen themselves, and are
// told where all do when the last has come; then each connects to those of
// lower numbers. Every connection begins with a handshake (handshake.h).
//
// Whoever is no rank of the run is turned away, and the others go on waiting: a
// stranger costs a little time, and ends nothing.
//
// Threads: caller synchronises; `say` is called by the thread that meets.
// Errors:  Error(kUnavailable) when not all have come in time, or another rank
//          declines this one; it says who, and why.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "weft/comm/tcp/address.h"
#include "weft/comm/tcp/run_key.h"
#include "weft/comm/tcp/tcp_transport.h"

namespace weft::tcp {

struct MeetingOptions {
  int rank = 0;
  int ranks = 1;
  std::string run = {};  // a name
  // Without one, only addresses that this machine alone reaches are dialled.
  std::optional<RunKey> key = {};
  double timeout = 60;  // seconds
  // Any other rank than the first listens at this port, 0 for one that the
  // system chooses. Others reach it there, unless it says that they must call
  // what translates its address.
  int port = 0;
  std::optional<Address> reached_at = {};
  // Whether messages that may arrive in part go as datagrams, and when.
  bool sends_datagrams = false;
  DatagramTimes datagram_times = {};
  // What people may want to know meanwhile, such as who was turned away.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

// As rank 0, at a socket that listens.
Company meet_as_first(Socket door, const MeetingOptions& options);
// As any other rank.
Company meet_at(const Address& first, const MeetingOptions& options);

}  // namespace weft::tcp
