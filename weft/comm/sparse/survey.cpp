#include "weft/comm/sparse/survey.h"

#include <algorithm>

#include "weft/comm/sparse/exchange.h"

namespace weft {
namespace {

constexpr int kSamples = 256;  // of all ranks together, and of each at least
constexpr int kLeastSamples = 8;
// A cell has about four samples or more: with fewer it would follow their
// noise.
constexpr double kCells = 64;

int samples_per_rank(int ranks) {
  return std::max(kLeastSamples, kSamples / ranks);
}

std::size_t most_bytes(int ranks) {
  return sizeof(std::uint64_t) *
         (1 + static_cast<std::size_t>(samples_per_rank(ranks)));
}

// This is the time for sorting the samples and pricing the algorithms, as
// `weft-micro --benchmark_filter=stream/choose` has it on a Sapphire Rapids
// core.
double thinking_seconds(int ranks) { return 20e-6 + 0.4e-6 * ranks; }

struct Sample {
  std::uint64_t index;
  double items;  // that it stands for
};

std::uint64_t index_at(const Stream& stream, std::uint64_t position) {
  if (stream.is_dense()) return position;
  return with_stream_types(stream.type(), [&]<class Index, class>() {
    return std::uint64_t{stream.indices<Index>()[position]};
  });
}

// Ranks take their samples at different phases, so that those of like supports
// do not fall together.
Bytes message_of(const Stream& stream, int rank, int ranks) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.write(stream.count());
  // Without items there is nothing to sample.
  if (stream.count() == 0) return bytes;
  const int samples = samples_per_rank(ranks);
  for (int i = 0; i < samples; ++i) {
    // Samples are quantiles of the items, so that they stand close where items
    // do.
    const double share = (i + (rank + 0.5) / ranks) / samples;
    const auto position =
        static_cast<std::uint64_t>(share * static_cast<double>(stream.count()));
    out.write(index_at(stream, std::min(position, stream.count() - 1)));
  }
  return bytes;
}

}  // namespace

// Cells of about equally many items, that end behind samples.
Support support_of(std::span<const SurveyMessage> messages,
                   const StreamType& type) {
  std::vector<Sample> samples;
  for (const SurveyMessage& said : messages) {
    for (const std::uint64_t index : said.indices) {
      samples.push_back({index, static_cast<double>(said.items) /
                                    static_cast<double>(said.indices.size())});
    }
  }
  std::ranges::sort(samples, {}, &Sample::index);
  double all = 0;
  for (const Sample& sample : samples) all += sample.items;
  std::vector<Support::Cell> cells;
  double begin = 0;
  double items = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    items += samples[i].items;
    const bool is_last = i + 1 == samples.size();
    // Equal samples stay together.
    if (!is_last &&
        (items < all / kCells || samples[i].index == samples[i + 1].index)) {
      continue;
    }
    const double end = static_cast<double>(samples[i].index) + 1;
    cells.push_back(
        {end - begin, items / static_cast<double>(messages.size())});
    begin = end;
    items = 0;
  }
  // No sample lies behind the last one, so this cell holds next to nothing.
  cells.push_back({static_cast<double>(type.size) - begin, 0});
  return Support(std::move(cells));
}

SurveyMessage read_survey_message(ByteReader in, const StreamType& type,
                                  int ranks) {
  SurveyMessage message;
  message.items = in.read<std::uint64_t>("count");
  if (message.items > type.size) throw in.damaged("count", "is above the size");
  const int given = message.items == 0 ? 0 : samples_per_rank(ranks);
  for (int i = 0; i < given; ++i) {
    const auto index = in.read<std::uint64_t>("index");
    if (index >= type.size) throw in.damaged("index", "is not in the vector");
    message.indices.push_back(index);
  }
  in.expect_end();
  return message;
}

Task<Survey> survey(Channel channel, const Stream& stream) {
  const int ranks = channel.size();
  const StreamType type = stream.type();
  const Bytes mine = message_of(stream, channel.rank(), ranks);
  std::vector<Bytes> messages(static_cast<std::size_t>(ranks));
  Transfers received(channel);
  Transfers sent(channel);
  for (int distance = 1; distance < ranks; ++distance) {
    // Receives are open before anything is sent.
    const int from = (channel.rank() - distance + ranks) % ranks;
    Bytes& message = messages[static_cast<std::size_t>(from)];
    // A rank without items sends less than the room.
    message.resize(most_bytes(ranks));
    received.receive(from, message);
  }
  for (int distance = 1; distance < ranks; ++distance) {
    sent.send((channel.rank() + distance) % ranks, mine);
  }
  for (int distance = 1; distance < ranks; ++distance) {
    const int from = (channel.rank() - distance + ranks) % ranks;
    Transfer& arrival = received[static_cast<std::size_t>(distance - 1)];
    const std::size_t bytes = co_await arrival;
    messages[static_cast<std::size_t>(from)].resize(bytes);
  }
  co_await sent.all();
  messages[static_cast<std::size_t>(channel.rank())] = mine;

  Survey result;
  std::vector<SurveyMessage> said;
  for (int i = 0; i < ranks; ++i) {
    const std::string where = name_of(channel, i);
    said.push_back(read_survey_message(
        ByteReader(messages[static_cast<std::size_t>(i)], where), type, ranks));
    // Rooms for messages are as large as the fullest rank needs.
    result.most_items = std::max(result.most_items, said.back().items);
  }
  result.support = support_of(said, type);
  co_await channel.pause(thinking_seconds(ranks));
  co_return result;
}

double survey_seconds(int ranks, const Level& network) {
  return network.latency +
         (ranks - 1) * static_cast<double>(most_bytes(ranks)) *
             network.seconds_per_byte +
         thinking_seconds(ranks);
}

}  // namespace weft
