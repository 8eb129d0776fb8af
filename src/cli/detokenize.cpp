// toy detokenize: token ids to text.
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/inference_flags.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/prompt.h"
#include "core/error.h"
#include "io/gguf.h"
#include "text/tokenizer.h"

namespace toy::cli {
namespace {

std::vector<int32_t> read_ids(const Arguments& arguments) {
    const std::vector<std::string>& words = arguments.positionals();
    const bool has_words = words.size() > 1;
    if (has_words && arguments.given("file")) bad_input("ids and --file are two inputs: give one");
    if (!has_words && !arguments.given("file") && !has_standard_input()) {
        bad_input("give ids: as words, with --file, or on standard input");
    }
    std::string text;
    for (size_t i = 1; i < words.size(); ++i) text += words[i] + " ";
    if (!has_words) text = read_text(arguments.given("file") ? arguments.text("file") : "-");
    return parse_ids(text);
}

int run(const Arguments& arguments) {
    const Gguf file = Gguf::open(find_model(arguments.positional(0)));
    if (!Tokenizer::is_present(file.metadata())) bad_input("{}: holds no tokenizer", file.path().string());
    const auto tokenizer = Tokenizer::from_metadata(file.metadata());
    const std::vector<int32_t> ids = read_ids(arguments);
    const std::string text = tokenizer->decode(
        ids, {.render_special = arguments.on("special"), .continuation = arguments.on("continuation")});
    if (arguments.on("json")) {
        print_json({{"format", "toy/detokenize-v1"}, {"model", file.path().string()}, {"ids", ids}, {"text", text}});
    } else if (is_terminal()) {
        print(without_controls(text) + (text.ends_with('\n') ? "" : "\n"));
    } else {
        print(text);
    }
    return k_ok;
}

}  // namespace

extern const Command k_detokenize;
const Command k_detokenize{
    .name = "detokenize",
    .summary = "turn token ids into text",
    .description =
        "Prints the text that token ids stand for: every byte of it and nothing else (on a terminal, with a "
        "line break at its end and without control characters).",
    .positionals = {model_word(),
                    {.name = "ids", .summary = "the ids; without them, --file or standard input", .repeats = true}},
    .flags =
        {{.name = "file", .letter = 'f', .kind = Kind::file, .value = "FILE", .summary = "read the ids from a file"},
         {.name = "special", .summary = "print control tokens too, as the vocabulary spells them"},
         {.name = "continuation", .summary = "the ids follow other text: their first space stays"}},
    .refused = {},
    .examples = {"toy detokenize model.gguf 1 9038 2501",
                 "toy tokenize model.gguf < a.txt | toy detokenize model.gguf"},
    .run = run,
};

}  // namespace toy::cli
