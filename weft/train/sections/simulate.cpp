#include "weft/base/ranges.h"
#include "weft/comm/transport/topology.h"
#include "weft/train/recipe/fields.h"
#include "weft/train/recipe/section_def.h"
#include "weft/train/simulate/compute_law.h"
#include "weft/train/simulate/failures.h"
#include "weft/train/sync/network.h"

namespace weft {
namespace {

const Fields<SimulateRecipe>& simulate_fields() {
  using R = SimulateRecipe;
  static const Fields<R> fields{
      field<&R::network>("network",
                         "\"64@50us,100Mbit/s\": the cluster, written out or a "
                         "file; empty: none is simulated"),
      field<&R::compute>("compute", "how long a step computes on a worker",
                         {.calls = calls_of<compute_law_registry>()}),
      field<&R::loss>("loss", "chance that a message is lost, and sent again",
                      {.range = kBelowOne, .unit = "share"}),
      field<&R::retransmit_after>(
          "retransmit_after", "that pass until a lost message is sent again",
          {.range = kNotNegative, .unit = "seconds"}),
      field<&R::tcp_timeout>(
          "tcp_timeout",
          "of TCP, which is slowed down by losses of segments; 0: messages are "
          "lost whole",
          {.range = kNotNegative, .unit = "seconds"}),
      field<&R::silence>(
          "silence",
          "after which parts that have not come of what may arrive in part are "
          "taken for lost",
          {.range = kNotNegative, .unit = "seconds"}),
      field<&R::most_delay>("most_delay",
                            "by which a message may come later, at random",
                            {.range = kNotNegative, .unit = "seconds"}),
      field<&R::burst>("burst",
                       "that a link lets through at once, as a token bucket "
                       "does, before its rate holds",
                       {.range = kNotNegative, .unit = "bytes"}),
      field<&R::failures>("failures",
                          "\"3@10s, 5@20s\": ranks that are lost, and when")};
  return fields;
}

void read_simulate(SectionReader& section, Recipe& recipe) {
  SimulateRecipe& simulate = recipe.simulate;
  read_fields(section, simulate_fields(), simulate);
  if (simulate.network.empty()) {
    if (simulate.failures.empty()) return;
    section.blame("failures", [&] {
      throw Error(ErrorCode::kInvalidArgument, "simulate.failures",
                  "only ranks of a simulated cluster are lost on purpose")
          .hint("simulate.network = \"64@50us,100Mbit/s\"");
    });
  }
  simulate.network = section.blame("network", [&] {
    const std::string text = topology_text(simulate.network);
    // There is nothing to measure.
    if (text != "auto") return text;
    throw Error(ErrorCode::kInvalidArgument, "simulate.network",
                "a cluster that is not there cannot be measured")
        .hint("write it out: 64@50us,100Mbit/s");
  });
  section.blame("failures", [&] {
    parse_failures(simulate.failures, parse_topology(simulate.network).ranks());
  });
}

}  // namespace

void register_recipe_section_simulate(RecipeSectionRegistry& sections) {
  sections.add({.name = "simulate",
                .summary = "a cluster that is not there, to train on",
                .place = 65,
                .options = specs_of(simulate_fields()),
                .read = read_simulate,
                .write = [](const Recipe& recipe, RecipeWriter& out) {
                  write_fields(recipe.simulate, simulate_fields(), out);
                }});
}

}  // namespace weft
