#include "cli/prompt.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "cli/numbers.h"
#include "cli/output.h"
#include "core/error.h"
#include "io/quote.h"

namespace toy::cli {
namespace {

constexpr size_t k_most_bytes = size_t{256} << 20;
// What the older toy wrote about when nobody told it.
constexpr std::string_view k_default_prompt = "Once upon a time";

// Closes what was opened; standard input stays open.
struct Source {
    int descriptor;
    ~Source() {
        if (descriptor > STDIN_FILENO) ::close(descriptor);
    }
};

std::string without_last_line_break(std::string text) {
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return text;
}

bool has_escape(std::string_view text) {
    for (std::string_view escape : {"\\n", "\\t", "\\r", "\\\"", "\\\\"}) {
        if (text.find(escape) != std::string_view::npos) return true;
    }
    return false;
}

// A text typed on the command line. Shells pass "\n" as two characters, and a model that reads a backslash instead of a
// line break writes worse without a word about it (lcpp#7384); but replacing it unasked would spoil "\nabla". So both
// ways are exact, and where nothing was said and it matters, we say so.
std::string typed(const Arguments& arguments, const std::string& text, std::string_view flag) {
    if (arguments.on("escape")) return unescaped(text, flag);
    if (!arguments.given("escape") && has_escape(text)) {
        print_warning(fmt::format(
            "{} holds a backslash and is taken as it is; --escape makes \\n a line break, --no-escape silences this",
            flag));
    }
    return text;
}

int hex_value(std::string_view digits) {
    int value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool is_whole = digits.size() == 2 && error == std::errc() && end == digits.data() + 2;
    return is_whole && digits[0] != '-' ? value : -1;
}

}  // namespace

std::vector<Flag> prompt_flags() {
    return {
        {.name = "prompt",
         .letter = 'p',
         .kind = Kind::text,
         .value = "TEXT",
         .summary = "the text to continue; \"\" is the beginning-of-text token (BOS) alone. Without any prompt flag, "
                    "standard input where it is a pipe or a file, else \"Once upon a time\""},
        {.name = "prompt-file",
         .letter = 'f',
         .kind = Kind::file,
         .value = "FILE",
         .summary =
             "read the text from a file, or from standard input for -; one line break at its end does not count"},
        {.name = "prompt-ids",
         .kind = Kind::text,
         .value = "IDS",
         .summary = "token ids, as \"1 15 200\" or 1,15,200: exactly these, no BOS is added"},
        {.name = "escape",
         .letter = 'e',
         .summary = "in --prompt and --stop, \\n \\t \\r \\\\ \\\" \\' and \\xHH stand for the characters they mean; "
                    "--no-escape: take them as they are, without a warning",
         .can_be_negated = true},
    };
}

std::string unescaped(std::string_view text, std::string_view flag) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            out += text[i];
            continue;
        }
        const char letter = ++i < text.size() ? text[i] : '\0';
        switch (letter) {
            case 'n': out += '\n'; break;
            case 't': out += '\t'; break;
            case 'r': out += '\r'; break;
            case '\\':
            case '"':
            case '\'': out += letter; break;
            case 'x': {
                const int value = hex_value(text.substr(i + 1, 2));
                if (value < 0) bad_input("{}: \\x needs two hexadecimal digits", flag);
                out += static_cast<char>(value);
                i += 2;
                break;
            }
            default:
                bad_input("{}: {} is no escape; known are \\n \\t \\r \\\\ \\\" \\' \\xHH", flag,
                          quote(text.substr(i - 1, 2)));
        }
    }
    return out;
}

std::string read_text(const std::string& path) {
    const std::string shown = path == "-" ? "standard input" : path;
    const Source source{path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (source.descriptor < 0) bad_input("{}: cannot be opened: {}", shown, std::strerror(errno));
    std::string text;
    std::array<char, 65536> buffer;
    while (true) {
        const ssize_t count = ::read(source.descriptor, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) bad_input("{}: cannot be read: {}", shown, std::strerror(errno));
        if (count == 0) return text;
        text.append(buffer.data(), static_cast<size_t>(count));
        if (text.size() > k_most_bytes) bad_input("{}: holds more than {} bytes", shown, grouped(k_most_bytes));
    }
}

bool has_standard_input() {
    struct stat status = {};
    if (::fstat(STDIN_FILENO, &status) != 0) return false;
    return S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode);
}

Prompt read_prompt(const Arguments& arguments) {
    std::vector<std::string> given;
    for (std::string_view flag : {"prompt", "prompt-file", "prompt-ids"}) {
        if (arguments.given(flag)) given.push_back("--" + std::string(flag));
    }
    if (given.size() > 1) bad_input("{} are different prompts: give one", fmt::format("{}", fmt::join(given, " and ")));
    Prompt prompt;
    if (arguments.given("prompt")) {
        prompt.text = typed(arguments, arguments.text("prompt"), "--prompt");
    } else if (arguments.given("prompt-ids")) {
        prompt.ids = parse_ids(arguments.text("prompt-ids"));
        if (prompt.ids->empty()) bad_input("--prompt-ids holds no id");
    } else if (arguments.given("prompt-file")) {
        prompt.text = without_last_line_break(read_text(arguments.text("prompt-file")));
    } else {
        prompt.text = has_standard_input() ? without_last_line_break(read_text("-")) : std::string(k_default_prompt);
    }
    return prompt;
}

std::vector<std::string> read_stops(const Arguments& arguments) {
    std::vector<std::string> stops;
    for (const std::string& stop : arguments.texts("stop")) {
        if (stop.empty()) bad_input("--stop needs a text that is not empty");
        stops.push_back(typed(arguments, stop, "--stop"));
    }
    return stops;
}

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, const std::string& text, bool parse_special) {
    if (text.empty()) {
        if (const auto bos = tokenizer.bos()) return {*bos};
        bad_input("the prompt is empty, and this model has no beginning-of-text token (BOS) to start from");
    }
    std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = true, .parse_special = parse_special});
    // An EOS that the file asks to append would end the text before it is continued.
    if (tokenizer.add_eos() && ids.size() > 1 && tokenizer.eos() == ids.back()) ids.pop_back();
    return ids;
}

}  // namespace toy::cli
