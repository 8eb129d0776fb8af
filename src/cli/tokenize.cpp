// toy tokenize: text to token ids.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/inference_flags.h"
#include "cli/output.h"
#include "cli/prompt.h"
#include "core/error.h"
#include "io/gguf.h"
#include "io/quote.h"
#include "text/tokenizer.h"

namespace toy::cli {
namespace {

// Every byte counts here, so that `tokenize | detokenize` gives back what went in.
std::string read_input(const Arguments& arguments) {
    const bool has_word = arguments.positionals().size() > 1;
    if (has_word && arguments.given("file")) bad_input("a text and --file are two texts: give one");
    if (has_word) return arguments.positional(1);
    if (arguments.given("file")) return read_text(arguments.text("file"));
    if (!has_standard_input()) bad_input("give a text: as a word, with --file, or on standard input");
    return read_text("-");
}

int run(const Arguments& arguments) {
    const Gguf file = Gguf::open(find_model(arguments.positional(0)));
    if (!Tokenizer::is_present(file.metadata())) bad_input("{}: holds no tokenizer", file.path().string());
    const auto tokenizer = Tokenizer::from_metadata(file.metadata());
    const std::string text = read_input(arguments);
    const std::vector<int32_t> ids = tokenizer->encode(
        text, {.add_special = arguments.on("add-special"), .parse_special = arguments.on("parse-special")});
    if (arguments.on("json")) {
        nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
        for (int32_t id : ids) tokens.push_back({{"id", id}, {"text", tokenizer->text(id)}});
        print_json({{"format", "toy/tokenize-v1"},
                    {"model", file.path().string()},
                    {"text", text},
                    {"ids", ids},
                    {"tokens", tokens}});
    } else if (arguments.on("pieces")) {
        std::string lines;
        for (int32_t id : ids) lines += fmt::format("{}\t{}\n", id, quote(tokenizer->text(id)));
        print(lines);
    } else {
        print(fmt::format("{}\n", fmt::join(ids, " ")));
    }
    return k_ok;
}

}  // namespace

extern const Command k_tokenize;
const Command k_tokenize{
    .name = "tokenize",
    .summary = "turn a text into token ids",
    .description =
        "Prints the ids of a text's tokens in one line, those that `toy infer` would compute for it. The text "
        "is a word of the command line, a file, or standard input; every byte of it counts.",
    .positionals = {model_word(), {.name = "text", .summary = "the text; without it, --file or standard input"}},
    .flags =
        {{.name = "file", .letter = 'f', .kind = Kind::file, .value = "FILE", .summary = "read the text from a file"},
         {.name = "add-special",
          .summary = "add BOS or EOS where the model wants them",
          .starts_on = true,
          .can_be_negated = true},
         {.name = "parse-special",
          .summary = "control tokens that the text spells, as <|im_start|>, become those tokens",
          .starts_on = true,
          .can_be_negated = true},
         {.name = "pieces", .summary = "a line for each token: its id and how the vocabulary spells it"}},
    .refused = {},
    .examples = {"toy tokenize model.gguf \"Once upon a time\"", "toy tokenize model.gguf --no-add-special < book.txt"},
    .run = run,
};

}  // namespace toy::cli
