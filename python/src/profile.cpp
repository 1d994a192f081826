// weft.profile: a block of code whose kernels, loaders and messages are
// recorded.
#include <optional>

#include "python/src/bind.h"

#include "weft/drawing/profile_drawing.h"
#include "weft/runtime/profile_totals.h"
#include "weft/runtime/trace_file.h"

namespace weft::python {
namespace {

class PythonProfile {
 public:
  // The trace is written when the block ends; empty: nowhere.
  explicit PythonProfile(std::string path) : path_(std::move(path)) {}

  void enter() { profile_.emplace(); }
  void exit() {
    if (!profile_) return;
    events_ = profile_->take();
    lost_ = profile_->lost();
    profile_.reset();
    totals_ = totals_of(events_);
    if (!path_.empty()) write_trace(path_, events_);
  }

  void save(const std::string& path) const { write_trace(path, events_); }
  const ProfileTotals& totals() const { return totals_; }

  std::string html() const {
    return profile_ ? "<div>recording</div>"
                    : drawing::profile_html(events_, totals_, machine_roof());
  }
  std::string text() const {
    if (profile_) return "<weft.profile, recording>";
    std::string text = profile_text(totals_, machine_roof());
    if (lost_ > 0) {
      text += fmt::format("{} events were not kept: there were more than {}\n",
                          lost_, Profile::kMostEvents);
    }
    return text;
  }

 private:
  std::string path_;
  std::optional<Profile> profile_;
  std::vector<ProfileEvent> events_;
  std::size_t lost_ = 0;
  ProfileTotals totals_;
};

py::list totals_from(const ProfileTotals& totals) {
  py::list all;
  for (const auto* part : {&totals.spans, &totals.messages}) {
    for (const SpanTotal& total : *part) {
      py::dict each;
      each["name"] = total.name;
      each["category"] = total.category;
      each["kernel"] = total.detail;
      each["calls"] = total.calls;
      each["seconds"] = total.seconds;
      each["flops"] = total.flops;
      each["bytes"] = total.bytes;
      each["of_roof"] = share_of_roof(total, machine_roof());
      all.append(each);
    }
  }
  return all;
}

}  // namespace

void bind_profile(py::module_& module) {
  py::class_<PythonProfile>(
      module, "profile",
      "Records what a block runs: `with weft.profile() as p: ...`, then "
      "print(p). With a path, the trace is written there, for "
      "ui.perfetto.dev.")
      .def(py::init([](const py::object& path) {
             return std::make_unique<PythonProfile>(
                 path.is_none()
                     ? std::string()
                     : py::cast<std::string>(
                           py::module_::import("os").attr("fspath")(path)));
           }),
           py::arg("path") = py::none())
      .def("__enter__",
           [](py::object self) {
             py::cast<PythonProfile&>(self).enter();
             return self;
           })
      .def("__exit__",
           [](PythonProfile& self, const py::args&) { self.exit(); })
      .def_property_readonly(
          "totals",
          [](const PythonProfile& self) { return totals_from(self.totals()); })
      .def_property_readonly(
          "seconds",
          [](const PythonProfile& self) { return self.totals().seconds; })
      .def(
          "save",
          [](const PythonProfile& self, const py::object& path) {
            self.save(py::cast<std::string>(
                py::module_::import("os").attr("fspath")(path)));
          },
          py::arg("path"), "Writes the trace.")
      .def("_repr_html_", &PythonProfile::html)
      .def("__repr__", &PythonProfile::text);
}

}  // namespace weft::python
