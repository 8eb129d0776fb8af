#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/log.h"

namespace toy::cli {
namespace {

// Writes all of it; false, with errno, where that fails.
bool write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        text.remove_prefix(static_cast<size_t>(written));
    }
    return true;
}

}  // namespace

void print(std::string_view text) {
    if (write_all(STDOUT_FILENO, text)) return;
    if (errno == EPIPE) throw OutputClosed{};
    failure("standard output cannot be written: {}", std::strerror(errno));
}

void print_json(const nlohmann::ordered_json& value) {
    print(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void print_error(std::string_view text) { write_all(STDERR_FILENO, text); }

void print_warning(std::string_view sentence) { logging::write(logging::Level::warning, sentence); }

bool is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

std::string without_controls(std::string_view text) {
    std::string safe;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // U+0080 to U+009F are controls too; in UTF-8 they are C2 80 to C2 9F.
        const bool is_c1 =
            byte == 0xC2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xE0) == 0x80;
        const bool is_c0 = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
        if (is_c0 || is_c1) {
            safe += "\xEF\xBF\xBD";
        } else {
            safe += text[i];
        }
        if (is_c1) ++i;
    }
    return safe;
}

}  // namespace toy::cli
