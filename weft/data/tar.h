// Archives of the tar format as they lie in memory: POSIX ustar and pax, GNU's
// long names. Nothing is unpacked: a member is where its bytes are.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/file.h"

namespace weft {

struct TarMember {
  std::string name;  // with its folders
  ByteSpan bytes;
};

// The regular files of an archive, in its order; folders are passed over.
// Throws Error(kDataLoss) with `where` and the byte for a damaged header and
// for a member that ends behind the archive, Error(kUnsupported) for links,
// devices, sparse files and packed archives (.tar.gz), of which no part lies
// where it could be read alone. Allocates in proportion to the names.
std::vector<TarMember> read_tar(ByteSpan archive, std::string_view where);

}  // namespace weft
