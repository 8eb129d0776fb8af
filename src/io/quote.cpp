#include "io/quote.h"

#include <fmt/core.h>

namespace toy {

std::string quote(std::string_view text) {
    constexpr size_t k_shown = 80;
    std::string out = "'";
    for (const char c : text.substr(0, k_shown)) {
        const bool printable = c >= ' ' && c <= '~';
        out += printable ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return out + (text.size() > k_shown ? "…'" : "'");
}

}  // namespace toy
