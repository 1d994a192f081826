#include "weft/train/tensorboard/xspace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "weft/base/file.h"
#include "weft/base/wire_writer.h"

namespace weft {
namespace {

using Form = ProfileEvent::Form;

constexpr double kPicoseconds = 1e12;
// What the plugin takes for the threads of a machine.
constexpr const char* kHostPlane = "/host:CPU";

enum StatId : std::int64_t { kKernel = 1, kFlops, kBytes };
constexpr std::pair<StatId, const char*> kStats[] = {
    {kKernel, "kernel"}, {kFlops, "flops"}, {kBytes, "bytes"}};

// Events of one name that do not overlap, or nest.
struct Line {
  std::string name;
  std::vector<const ProfileEvent*> events;
};

std::int64_t picoseconds(double seconds) {
  return std::llround(seconds * kPicoseconds);
}

// The entry of a map: messages of a key and a value.
void add_entry(WireWriter& plane, int field, std::int64_t key,
               const WireWriter& value) {
  WireWriter entry;
  entry.integer(1, key);
  entry.message(2, value);
  plane.message(field, entry);
}

void add_number(WireWriter& metadata, StatId stat, double value) {
  if (value <= 0) return;
  WireWriter written;
  written.integer(1, stat);
  written.real64(2, value);
  metadata.message(5, written);
}

WireWriter metadata_of(std::int64_t id, const SpanKind& kind) {
  WireWriter metadata;
  metadata.integer(1, id);
  metadata.bytes(2, kind.name);
  if (!kind.detail.empty()) {
    WireWriter kernel;
    kernel.integer(1, kKernel);
    kernel.bytes(5, kind.detail);
    metadata.message(5, kernel);
  }
  add_number(metadata, kFlops, kind.flops);
  add_number(metadata, kBytes, kind.bytes);
  return metadata;
}

// The first line of the message's category that is free when it begins.
Line& free_line(std::vector<Line>& lines, const ProfileEvent& message) {
  for (Line& line : lines) {
    if (line.events.back()->end <= message.begin) return line;
  }
  return lines.emplace_back(Line{message.kind->category, {}});
}

std::vector<Line> lines_of(std::span<const ProfileEvent> events) {
  std::vector<const ProfileEvent*> in_order;
  for (const ProfileEvent& event : events) {
    if (event.form != Form::kQuantity) in_order.push_back(&event);
  }
  // Where two begin together the longer one holds the other.
  std::ranges::stable_sort(in_order, {}, [](const ProfileEvent* event) {
    return std::pair(event->begin, -event->end);
  });
  std::map<int, Line> threads;
  std::map<std::string, std::vector<Line>> messages;
  for (const ProfileEvent* event : in_order) {
    Line& line =
        event->form == Form::kSpan
            ? threads
                  .try_emplace(event->thread,
                               Line{profile::thread_name(event->thread), {}})
                  .first->second
            : free_line(messages[event->kind->category], *event);
    line.events.push_back(event);
  }
  std::vector<Line> lines;
  for (auto& [thread, line] : threads) lines.push_back(std::move(line));
  for (auto& [category, all] : messages) {
    for (Line& line : all) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::string xspace(std::span<const ProfileEvent> events) {
  const std::vector<Line> lines = lines_of(events);
  double began = 0;
  if (!lines.empty()) {
    began =
        std::ranges::min(lines, {},
                         [](const Line& line) { return line.events[0]->begin; })
            .events[0]
            ->begin;
  }
  WireWriter plane;
  plane.integer(1, 1);
  plane.bytes(2, kHostPlane);
  std::map<const SpanKind*, std::int64_t> ids;
  std::int64_t number = 0;
  for (const Line& line : lines) {
    WireWriter written;
    written.integer(1, ++number);
    written.bytes(2, line.name);
    for (const ProfileEvent* event : line.events) {
      const auto id = static_cast<std::int64_t>(ids.size()) + 1;
      WireWriter span;
      span.integer(1, ids.try_emplace(event->kind.get(), id).first->second);
      span.integer(2, picoseconds(event->begin - began));
      span.integer(3, picoseconds(event->end - event->begin));
      written.message(4, span);
    }
    plane.message(3, written);
  }
  for (const auto& [kind, id] : ids) {
    add_entry(plane, 4, id, metadata_of(id, *kind));
  }
  for (const auto& [id, name] : kStats) {
    WireWriter stat;
    stat.integer(1, id);
    stat.bytes(2, name);
    add_entry(plane, 5, id, stat);
  }
  WireWriter space;
  space.message(1, plane);
  space.bytes(4, "weft");
  return space.written();
}

std::filesystem::path write_profile(const std::filesystem::path& folder,
                                    const std::string& name,
                                    std::span<const ProfileEvent> events) {
  const auto path = folder / "plugins/profile" / name / "weft.xplane.pb";
  create_folders(path.parent_path());
  write_file(path, xspace(events));
  return path;
}

}  // namespace weft
