// What recipes said before, in the words of today, so that files and
// checkpoints from then are read as they were meant. What a section took in
// another form, as [optimizer] a table of the rate, it reads by itself.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Until calls had one grammar, lists stood without brackets and options were
// set apart by spaces: "blueconnect(2,2 chunks=2)" is "blueconnect([2, 2],
// chunks=2)". Until each factor of it had a stage of its own, that of all was
// no list: "stage=halving". Any other text stays as it is.
std::string collective_of_today(std::string_view text);

}  // namespace weft
