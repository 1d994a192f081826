// A switch of the network lab that loses packets on purpose, for kernels that
// cannot: every host has a TUN device whose other end is here.
//
//   weft-lossy-switch LOSS BITS_PER_S DELAY_S QUEUE_BYTES NAMESPACE…
//
// makes the device `eth0` in each of the namespaces, says "ready", and passes
// packets on until it is ended: to the N-th host what goes to an address that
// ends in N. Each packet is lost with the chance LOSS, drawn anew for each;
// what is not leaves for its host at the rate, behind what waits for that host,
// and is there after the delay; or is dropped where too much is under way.
// Packets are as the kernel sends them, cut to the size of a frame and with
// their checksums.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <random>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

namespace {

// What a cable carries with each packet: Ethernet's header and checksum.
constexpr std::size_t kFrameBytes = 14;
constexpr std::size_t kMostPacket = 2048;
constexpr std::size_t kSourceAddress = 12;  // in the header of IPv4
constexpr std::size_t kLastOfTarget = kSourceAddress + 7;

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "lossy switch: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

// Devices belong to the namespace in which they were made.
int open_device(const std::string& name) {
  const int space =
      ::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) fail(name);
  ::close(space);
  const int device = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request = {};
  std::strncpy(request.ifr_name, "eth0", sizeof(request.ifr_name) - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (device < 0 || ::ioctl(device, TUNSETIFF, &request) != 0) fail(name);
  return device;
}

struct Packet {
  double arrives_at;
  std::vector<char> bytes;
};

struct Port {
  int device;
  std::deque<Packet> queue = {};
  std::size_t queued = 0;  // bytes, on their way too
  double busy_until = 0;
};

class Switch {
 public:
  Switch(double loss, double bits_per_s, double delay, std::size_t queue_bytes,
         std::vector<Port> ports)
      : lost_(loss),
        seconds_per_byte_(8 / bits_per_s),
        delay_(delay),
        queue_bytes_(queue_bytes),
        ports_(std::move(ports)) {}

  void run() {
    std::vector<pollfd> wanted;
    for (const Port& port : ports_) wanted.push_back({port.device, POLLIN, 0});
    for (;;) {
      const double rest = send_due();
      const timespec limit{
          static_cast<time_t>(rest),
          static_cast<long>(
              1e9 * (rest - static_cast<double>(static_cast<time_t>(rest))))};
      ::ppoll(wanted.data(), wanted.size(), &limit, nullptr);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].revents != 0) take_from(ports_[i]);
      }
    }
  }

 private:
  void take_from(const Port& port) {
    std::array<char, kMostPacket> room;
    for (;;) {
      const ssize_t size = ::read(port.device, room.data(), room.size());
      if (size <= static_cast<ssize_t>(kLastOfTarget)) return;
      const auto target = static_cast<unsigned char>(room[kLastOfTarget]);
      if (target < 1 || target > ports_.size() || lost_(random_)) continue;
      enqueue(ports_[target - 1u],
              {room.data(), room.data() + static_cast<std::size_t>(size)});
    }
  }

  void enqueue(Port& port, std::vector<char> bytes) {
    if (port.queued + bytes.size() > queue_bytes_) return;
    port.busy_until =
        std::max(port.busy_until, now()) +
        seconds_per_byte_ * static_cast<double>(bytes.size() + kFrameBytes);
    port.queued += bytes.size();
    port.queue.push_back({port.busy_until + delay_, std::move(bytes)});
  }

  // Seconds until there is more.
  double send_due() {
    double next = now() + 1;
    for (Port& port : ports_) {
      while (!port.queue.empty() && port.queue.front().arrives_at <= now()) {
        const std::vector<char>& bytes = port.queue.front().bytes;
        // A device that takes none loses it, as a card does.
        [[maybe_unused]] const ssize_t written =
            ::write(port.device, bytes.data(), bytes.size());
        port.queued -= bytes.size();
        port.queue.pop_front();
      }
      if (!port.queue.empty()) {
        next = std::min(next, port.queue.front().arrives_at);
      }
    }
    return std::max(0.0, next - now());
  }

  std::mt19937_64 random_{1};
  std::bernoulli_distribution lost_;
  double seconds_per_byte_;
  double delay_;
  std::size_t queue_bytes_;
  std::vector<Port> ports_;
};

}  // namespace

int main(int count, char** words) {
  if (count < 6) {
    fmt::print(stderr,
               "usage: {} LOSS BITS_PER_S DELAY_S QUEUE_BYTES NAMESPACE...\n",
               words[0]);
    return 2;
  }
  std::vector<Port> ports;
  for (int i = 5; i < count; ++i) ports.push_back({open_device(words[i])});
  fmt::print("ready\n");
  std::fflush(stdout);
  Switch(std::stod(words[1]), std::stod(words[2]), std::stod(words[3]),
         static_cast<std::size_t>(std::stod(words[4])), std::move(ports))
      .run();
}
