// A transaction or a block of a market, from anybody.
#include "tests/fuzz/fuzz.h"

#include "weft/market/block.h"

namespace {

// A market whose treasurer has given something to somebody.
const weft::market::State& usual_market() {
  static const weft::market::State state = [] {
    weft::market::Genesis genesis{.name = "fuzz"};
    weft::market::State begun =
        weft::market::beginning_of(weft::market::to_json(genesis));
    begun.accounts[genesis.treasurer].balance = 100;
    begun.money = 100;
    return begun;
  }();
  return state;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using weft::fuzz::text_of;
  namespace market = weft::market;
  const std::string_view text = text_of(data, size);
  weft::fuzz::refuse_or_accept([&] {
    // Whoever has signed what parses may do it: it must not break the sums.
    market::Request request = market::parse_request(text);
    market::State state = usual_market();
    request.market = state.market;
    std::vector<std::string> notes;
    market::begin_block(state, 10, notes);
    market::apply_request(state, request, notes);
    market::end_block(state, notes);
    market::check_money(state);
  });
  weft::fuzz::refuse_or_accept([&] {
    const market::Block block = market::parse_block(text);
    // What is read says the same when it is written.
    WEFT_CHECK(market::parse_block(market::to_json(block)) == block);
    market::State state = usual_market();
    std::vector<std::string> notes;
    market::apply_block(state, block, notes);
  });
  return weft::fuzz::refuse_or_accept([&] { market::parse_genesis(text); });
}
