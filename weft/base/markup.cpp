#include "weft/base/markup.h"

namespace weft {

std::string markup_text(std::string_view text) {
  std::string result;
  for (const char character : text) {
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
      case '\t':
        result += character;
        break;
      default:
        result +=
            static_cast<unsigned char>(character) < 0x20 ? '?' : character;
    }
  }
  return result;
}

}  // namespace weft
