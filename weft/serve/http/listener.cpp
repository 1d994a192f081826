#include "weft/serve/http/listener.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>

#include "weft/serve/http/session.h"
#include "weft/serve/log.h"

namespace weft::serve {
namespace {

using asio::ip::tcp;

// What OpenSSL says is for its own; the file is what matters to the user.
void load_certificate(asio::ssl::context& context, const TlsFiles& files) {
  const auto check = [](const error_code& error, const std::string& file) {
    if (!error) return;
    throw Error(ErrorCode::kInvalidArgument, file, "{}", error.message())
        .hint(
            "a PEM file: the certificate first, then those that signed it; "
            "the key fits it and has no password");
  };
  error_code error;
  context.set_options(
      asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
      asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
      asio::ssl::context::no_tlsv1_1);
  context.use_certificate_chain_file(files.certificate, error);
  check(error, files.certificate);
  context.use_private_key_file(files.key, asio::ssl::context::pem, error);
  check(error, files.key);
}

}  // namespace

class HttpListener::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::io_context& context, Routes& routes, Metrics& metrics,
        const HttpOptions& options)
      : context_(context),
        threads_(options.threads),
        acceptor_(executor()),
        wait_(acceptor_.get_executor()),
        connections_(std::make_shared<Connections>(routes, metrics, options)) {
    if (options.tls.is_wanted()) load_certificate(tls_, options.tls);
    error_code error;
    const auto address = asio::ip::make_address(options.address, error);
    if (error) {
      throw Error(ErrorCode::kInvalidArgument, options.address,
                  "is no address of this machine: {}", error.message())
          .hint("127.0.0.1 for this machine alone, 0.0.0.0 for all");
    }
    open({address, options.port});
  }

  void accept() {
    acceptor_.async_accept(
        executor(),
        [self = shared_from_this()](error_code error, tcp::socket socket) {
          self->take(error, std::move(socket));
        });
  }

  void close() {
    asio::post(acceptor_.get_executor(), [self = shared_from_this()] {
      error_code ignored;  // it is closed, whatever the system says
      self->acceptor_.close(ignored);
      self->wait_.cancel();
    });
    connections_->end_all();
  }

  std::uint16_t port() const { return port_; }
  bool wait(Time until) { return connections_->wait_until_closed(until); }

 private:
  static constexpr std::chrono::milliseconds kPause{100};

  // Runs what it is given one after the other. A single thread does so anyway,
  // and a strand would put each step into a queue once more.
  asio::any_io_executor executor() {
    if (threads_ == 1) return context_.get_executor();
    return asio::make_strand(context_);
  }

  void open(const tcp::endpoint& endpoint) {
    try {
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(asio::socket_base::reuse_address(true));
      acceptor_.bind(endpoint);
      acceptor_.listen(asio::socket_base::max_listen_connections);
      port_ = acceptor_.local_endpoint().port();
    } catch (const boost::system::system_error& error) {
      throw Error(
          ErrorCode::kUnavailable,
          endpoint_text(endpoint.address().to_string(), endpoint.port()),
          "cannot listen here: {}", error.code().message());
    }
  }

  void take(error_code error, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (error == asio::error::no_descriptors) {
      // Trying again at once would only keep a thread busy.
      wait_.expires_after(kPause);
      wait_.async_wait([self = shared_from_this()](error_code stopped) {
        if (!stopped) self->accept();
      });
      return;
    }
    if (!error && connections_->has_room()) serve(std::move(socket));
    accept();
  }

  void serve(tcp::socket socket) {
    error_code ignored;  // it costs time where it cannot be set, nothing else
    socket.set_option(tcp::no_delay(true), ignored);
    if (connections_->options.tls.is_wanted()) {
      start(TlsStream(std::move(socket), tls_));
    } else {
      start(PlainStream(std::move(socket)));
    }
  }

  template <class Stream>
  void start(Stream stream) {
    const auto session =
        std::make_shared<Session<Stream>>(std::move(stream), connections_);
    connections_->add(session);
    session->start();
  }

  asio::io_context& context_;
  int threads_;
  asio::ssl::context tls_{asio::ssl::context::tls_server};
  tcp::acceptor acceptor_;
  asio::steady_timer wait_;
  std::uint16_t port_ = 0;
  std::shared_ptr<Connections> connections_;
};

HttpListener::HttpListener(asio::io_context& context, Routes& routes,
                           Metrics& metrics, const HttpOptions& options)
    : state_(std::make_shared<State>(context, routes, metrics, options)) {
  state_->accept();
}

HttpListener::~HttpListener() { end(); }

std::uint16_t HttpListener::port() const { return state_->port(); }
void HttpListener::end() { state_->close(); }
bool HttpListener::close(Time until) {
  end();
  return state_->wait(until);
}

}  // namespace weft::serve
