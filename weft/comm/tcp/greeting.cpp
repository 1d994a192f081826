#include "weft/comm/tcp/greeting.h"

namespace weft::tcp {

Greeting::Greeting(Socket socket, Handshake::Side side, const Identity& self,
                   Handshake::Judge judge)
    : name_(socket.peer().text()),
      handshake_(side, self, name_, std::move(judge)),
      is_dialler_(side == Handshake::Side::kDialler) {
  connection_.socket = std::move(socket);
  out_ = handshake_.take_output();
}

Greeting Greeting::dial(Socket socket, const Identity& self,
                        Handshake::Judge judge, const Member& introduction) {
  Greeting greeting(std::move(socket), Handshake::Side::kDialler, self,
                    std::move(judge));
  greeting.introduction_ = text_of(introduction);
  return greeting;
}

Greeting Greeting::accept(Socket socket, const Identity& self,
                          Handshake::Judge judge) {
  return {std::move(socket), Handshake::Side::kAcceptor, self,
          std::move(judge)};
}

pollfd Greeting::wanted() const {
  const int events = out_.empty() ? POLLIN : POLLIN | POLLOUT;
  return {connection_.socket.get(), static_cast<short>(events), 0};
}

bool Greeting::is_over() const {
  return is_known_ && out_.empty() && (is_dialler_ || member_);
}

void Greeting::move() {
  std::optional<Error> unsent;
  try {
    flush();
  } catch (const Error& error) {
    // Who has declined us closes the connection, but has said why.
    unsent = error;
  }
  listen();
  if (unsent) throw *unsent;
  flush();
}

void Greeting::flush() {
  while (!out_.empty()) {
    const std::size_t sent = connection_.socket.send(out_);
    if (sent == 0) return;
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent));
  }
}

void Greeting::listen() {
  // A handshake is short; what a stranger sends beyond that waits.
  std::array<std::byte, 256> room;
  if (is_known_ && (is_dialler_ || member_)) return;
  const std::size_t came = connection_.socket.receive(room);
  if (came == 0) return;
  try {
    hear(std::span(room).first(came));
  } catch (const Error&) {
    say_verdict();
    throw;
  }
}

void Greeting::say_verdict() {
  const Bytes verdict = handshake_.take_output();
  out_.insert(out_.end(), verdict.begin(), verdict.end());
  try {
    flush();
  } catch (const Error&) {
    // Whoever is declined need not be there to hear it.
  }
}

void Greeting::hear(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  if (!is_known_) {
    taken = handshake_.take(bytes);
    const Bytes answer = handshake_.take_output();
    out_.insert(out_.end(), answer.begin(), answer.end());
    if (handshake_.is_done()) introduce();
  }
  const auto records = bytes.subspan(taken);
  if (records.empty()) return;
  std::memcpy(connection_.reader.room().data(), records.data(), records.size());
  connection_.reader.came(records.size());
  if (!is_dialler_) hear_introduction();
}

void Greeting::introduce() {
  is_known_ = true;
  connection_.rank = static_cast<int>(handshake_.peer().rank);
  connection_.writer = handshake_.take_writer();
  connection_.reader = handshake_.take_reader();
  connection_.datagram_keys = handshake_.datagram_keys();
  if (!is_dialler_) return;
  connection_.writer.write({.kind = Frame::Kind::kMeet,
                            .payload = std::as_bytes(std::span(introduction_))},
                           out_);
}

void Greeting::hear_introduction() {
  if (member_) return;
  const auto frame = connection_.reader.next();
  if (!frame) return;
  if (frame->kind != Frame::Kind::kMeet) {
    throw Error(ErrorCode::kDataLoss, "tcp", "{} does not introduce itself",
                name_);
  }
  const std::string_view text(
      reinterpret_cast<const char*>(frame->payload.data()),
      frame->payload.size());
  member_ = parse_member(text);
}

Connection Greeting::take_connection() { return std::move(connection_); }

}  // namespace weft::tcp
