#include "weft/privacy/mechanism.h"

namespace weft::privacy {
namespace {

std::vector<OptionSpec> mechanism_options(const MechanismDef& def) {
  std::vector<OptionSpec> schema = def.options;
  schema.push_back({"steps",
                    std::int64_t{1},
                    "releases, each with noise of its own",
                    {.least = 1}});
  return schema;
}

}  // namespace

std::int64_t Mechanism::steps() const {
  return option<std::int64_t>(options, "steps");
}

Mechanisms parse_mechanisms(std::string_view text) {
  CallReader reader(text, mechanism_registry().kind());
  Mechanisms mechanisms;
  do {
    const std::size_t place = reader.place();
    const std::string_view name = reader.take_name("a mechanism");
    const MechanismDef& def = reader.at(place, [&]() -> const MechanismDef& {
      return mechanism_registry().get(name);
    });
    mechanisms.push_back(
        {&def, reader.take_options(def.name, mechanism_options(def))});
  } while (reader.take('+'));
  reader.expect_end();
  return mechanisms;
}

std::string to_string(const Mechanisms& mechanisms) {
  std::string text;
  for (const Mechanism& mechanism : mechanisms) {
    if (!text.empty()) text += " + ";
    text += call_text(mechanism.def->name, mechanism_options(*mechanism.def),
                      mechanism.options);
  }
  return text;
}

RenyiCurve renyi_curve(const Mechanisms& mechanisms,
                       const RenyiOrders& orders) {
  RenyiCurve total(orders);
  for (const Mechanism& mechanism : mechanisms) {
    std::vector<double> values;
    for (const double order : orders.all()) {
      values.push_back(mechanism.def->renyi(mechanism.options, order));
    }
    total += static_cast<double>(mechanism.steps()) *
             RenyiCurve(orders, std::move(values));
  }
  return total;
}

OptionSpec noise_option() {
  return {"noise", 1.0, "over the sensitivity; 0 is none", {.least = 0}};
}

OptionSpec rate_option() {
  return {"rate",
          1.0,
          "with which each takes part in a step, on their own",
          {.least = 0, .most = 1},
          {},
          "share"};
}

}  // namespace weft::privacy
