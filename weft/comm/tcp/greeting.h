// A connection on which two ranks get to know each other: the handshake, and
// behind it the dialler's introduction.
//
// Threads: caller synchronises.
#pragma once

#include <optional>
#include <string>

#include "weft/comm/tcp/handshake.h"
#include "weft/comm/tcp/link.h"
#include "weft/comm/tcp/member.h"

namespace weft::tcp {

class Greeting {
 public:
  // We have called, and introduce ourselves.
  static Greeting dial(Socket socket, const Identity& self,
                       Handshake::Judge judge, const Member& introduction);
  // We were called, and listen.
  static Greeting accept(Socket socket, const Identity& self,
                         Handshake::Judge judge);

  // Moves what can be moved now. Throws when the other side is declined, or
  // declines us, or goes, or is no rank; it has been told what it can be told.
  void move();
  bool is_over() const;

  // What poll(2) is to wait for.
  pollfd wanted() const;
  // "127.0.0.1:4711".
  const std::string& name() const { return name_; }

  // Once it is over. The member is what a dialler said of itself.
  Connection take_connection();
  const Member& member() const { return *member_; }

 private:
  Greeting(Socket socket, Handshake::Side side, const Identity& self,
           Handshake::Judge judge);
  void flush();
  void listen();
  void hear(std::span<const std::byte> bytes);
  void say_verdict();
  void introduce();
  void hear_introduction();

  std::string name_;
  Handshake handshake_;
  Connection connection_;
  Bytes out_;  // not sent yet
  std::string introduction_;
  std::optional<Member> member_;
  bool is_dialler_;
  bool is_known_ = false;  // the handshake is over
};

}  // namespace weft::tcp
