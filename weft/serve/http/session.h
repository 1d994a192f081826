// One connection: requests one after another, each read, answered and written
// before the next. While a request waits for its model, the socket is watched,
// so that a client who closes it gives the request up.
//
// Threads: all of a session's steps run one at a time, by the executor of its
//          stream; a session lives as long as one of them is due.
#pragma once

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <type_traits>

#include "weft/serve/http/connections.h"

namespace weft::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

template <class Stream>
class Session final : public Connection,
                      public std::enable_shared_from_this<Session<Stream>> {
 public:
  Session(Stream stream, std::shared_ptr<Connections> connections)
      : stream_(std::move(stream)),
        connections_(std::move(connections)),
        look_again_(stream_.get_executor()) {}
  ~Session() override { connections_->remove(this); }

  void start() {
    asio::dispatch(stream_.get_executor(), [self = self()] { self->greet(); });
  }

  void end() override {
    asio::post(stream_.get_executor(), [self = self()] {
      self->is_ending_ = true;
      if (self->is_idle_) self->lowest().close();
    });
  }

 private:
  static constexpr std::chrono::milliseconds kLook{100};

  auto self() { return this->shared_from_this(); }
  auto& lowest() { return beast::get_lowest_layer(stream_); }
  const HttpOptions& options() const { return connections_->options; }

  void greet() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      if (is_ending_) return lowest().close();
      is_idle_ = true;
      lowest().expires_after(options().receive);
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = self()](error_code error) {
                                if (!error) self->await();
                              });
    } else {
      await();
    }
  }

  // Waits for a request. Its first bytes start the clock of the others.
  void await() {
    if (is_ending_) return close();
    parser_.emplace();
    parser_->header_limit(
        static_cast<std::uint32_t>(options().most_header_bytes));
    parser_->body_limit(options().most_body_bytes);
    is_idle_ = true;
    lowest().expires_after(options().idle);
    if (buffer_.size() > 0) return receive();
    stream_.async_read_some(
        buffer_.prepare(kChunk),
        [self = self()](error_code error, std::size_t bytes) {
          if (error) return;
          self->buffer_.commit(bytes);
          self->receive();
        });
  }

  void receive() {
    is_idle_ = false;
    lowest().expires_after(options().receive);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = self()](error_code error, std::size_t) {
                              if (error) return self->refuse_bytes(error);
                              self->check_header();
                            });
  }

  // Who is refused anyway need not send a body.
  void check_header() {
    if (auto answer = connections_->routes.refuse(call())) {
      return write(*answer, /*may_go_on=*/parser_->is_done());
    }
    if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
      return invite();
    }
    read_body();
  }

  void invite() {
    static const std::string kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue),
                      [self = self()](error_code error, std::size_t) {
                        if (!error) self->read_body();
                      });
  }

  void read_body() {
    http::async_read(stream_, buffer_, *parser_,
                     [self = self()](error_code error, std::size_t) {
                       if (error) return self->refuse_bytes(error);
                       self->answer();
                     });
  }

  // What was sent is no HTTP, or too much of it; or nobody is there any more.
  void refuse_bytes(error_code error) {
    if (error == http::error::body_limit) {
      return write(refusal_answer(Status::kTooLarge,
                                  fmt::format("a body has at most {} bytes",
                                              options().most_body_bytes)),
                   false);
    }
    if (error == http::error::header_limit) {
      return write(refusal_answer(Status::kTooLarge,
                                  fmt::format("headers have at most {} bytes",
                                              options().most_header_bytes)),
                   false);
    }
    if (error == beast::error::timeout) return close();
    const auto& kind = make_error_code(http::error::end_of_stream).category();
    if (error.category() != kind || error == http::error::end_of_stream ||
        error == http::error::partial_message) {
      return close();
    }
    write(refusal_answer(Status::kBadRequest, error.message()), false);
  }

  HttpCall call() const {
    const auto& message = parser_->get();
    const auto text = [](beast::string_view view) {
      return std::string_view(view.data(), view.size());
    };
    const std::string_view target = text(message.target());
    return {.method = text(message.method_string()),
            .path = target.substr(0, target.find('?')),
            .body = message.body(),
            .authorization = text(message[http::field::authorization]),
            .content_encoding = text(message[http::field::content_encoding]),
            .content_type = text(message[http::field::content_type]),
            .json_size = text(message["Inference-Header-Content-Length"])};
  }

  void answer() {
    // The model takes its time, for which the deadline stands.
    lowest().expires_never();
    is_waiting_ = true;
    give_up_ = connections_->routes.handle(
        call(), [self = self()](std::function<HttpAnswer()> text) {
          asio::post(self->stream_.get_executor(),
                     [self, text = std::move(text)] {
                       self->is_waiting_ = false;
                       self->give_up_ = nullptr;
                       self->lowest().socket().cancel();
                       self->look_again_.cancel();
                       if (self->is_gone_) return self->close();
                       self->write(text(), true);
                     });
        });
    // The answer may be under way already, but it comes behind this.
    if (give_up_) watch();
  }

  // Wakes up when there is something to read: the end of the stream, or bytes
  // of a client who sends the next request before it has this answer.
  void watch() {
    lowest().socket().async_wait(asio::ip::tcp::socket::wait_read,
                                 [self = self()](error_code error) {
                                   if (error || !self->is_waiting_) return;
                                   self->look();
                                 });
  }

  void look() {
    pollfd state{lowest().socket().native_handle(), POLLRDHUP, 0};
    if (poll(&state, 1, 0) == 1) {
      is_gone_ = true;
      if (give_up_) give_up_();
      return;
    }
    // The bytes stay where they are, and would wake it at once.
    look_again_.expires_after(kLook);
    look_again_.async_wait([self = self()](error_code error) {
      if (!error && self->is_waiting_) self->look();
    });
  }

  void write(const HttpAnswer& answer, bool may_go_on) {
    auto& response = response_.emplace();
    response.version(11);
    response.result(static_cast<unsigned>(answer.code));
    response.set(http::field::server, kServerName);
    response.set(http::field::content_type, answer.content_type);
    if (answer.json_size) {
      response.set("Inference-Header-Content-Length",
                   std::to_string(*answer.json_size));
    }
    if (answer.code == http_code(Status::kUnauthorized)) {
      response.set(http::field::www_authenticate, "Bearer");
    }
    if (!answer.allow.empty()) response.set(http::field::allow, answer.allow);
    const bool goes_on = may_go_on && parser_->keep_alive() && !is_ending_;
    response.keep_alive(goes_on);
    // Clients of HTTP/1.0 take it for the end where nothing is said.
    if (goes_on && parser_->get().version() == 10) {
      response.set(http::field::connection, "keep-alive");
    }
    response.body() = answer.body;
    response.prepare_payload();
    serializer_.emplace(response);
    // The length is told, and the body is not sent.
    serializer_->split(parser_->get().method() == http::verb::head);
    write_on();
  }

  // Writes as much as the client takes, and gives it new time for the rest.
  void write_on() {
    lowest().expires_after(options().send);
    http::async_write_some(stream_, *serializer_,
                           [self = self()](error_code error, std::size_t) {
                             if (!error) self->written();
                           });
  }

  void written() {
    const bool is_whole = serializer_->split() ? serializer_->is_header_done()
                                               : serializer_->is_done();
    if (!is_whole) return write_on();
    const bool goes_on = response_->keep_alive();
    serializer_.reset();
    response_.reset();
    if (goes_on) return await();
    close();
  }

  void close() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      lowest().expires_after(options().send);
      // A client that is still sending has not said that it ends, which is an
      // error to TLS and none here.
      stream_.async_shutdown([self = self()](error_code) { self->linger(); });
    } else {
      linger();
    }
  }

  void linger() {
    error_code ignored;  // the other side may be gone already
    lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    drained_until_ = std::chrono::steady_clock::now() + options().receive;
    drain();
  }

  // A socket that is closed with bytes unread resets the connection, and the
  // answer with it. So what a refused client still sends is read as long as it
  // keeps coming, for the time that a request may take.
  void drain() {
    const auto pause =
        std::min<std::chrono::steady_clock::duration>(options().idle, kLinger);
    lowest().expires_at(
        std::min(drained_until_, std::chrono::steady_clock::now() + pause));
    buffer_.consume(buffer_.size());
    // What TLS would make of the bytes does not matter any more.
    lowest().async_read_some(buffer_.prepare(kChunk),
                             [self = self()](error_code error, std::size_t) {
                               if (!error) self->drain();
                             });
  }

  static constexpr std::size_t kChunk = 16 << 10;
  static constexpr std::chrono::milliseconds kLinger{2'000};

  Stream stream_;
  std::shared_ptr<Connections> connections_;
  asio::steady_timer look_again_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  std::function<void()> give_up_;
  bool is_idle_ = false;     // nothing of a request is here
  bool is_waiting_ = false;  // for the model
  bool is_gone_ = false;     // the client
  bool is_ending_ = false;
  std::chrono::steady_clock::time_point drained_until_;
};

}  // namespace weft::serve
