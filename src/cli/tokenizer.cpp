// toy tokenizer train: a vocabulary made from texts.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/progress.h"
#include "text/train_tokenizer.h"

namespace toy::cli {
namespace {

/// A bar for each stage of the work.
class Stages {
 public:
    void show(std::string_view stage, int64_t done, int64_t total) {
        if (stage != stage_) {
            progress_ = nullptr;  // wipes its line before another begins
            progress_ = std::make_unique<Progress>(std::string(stage), total);
            stage_ = stage;
        }
        progress_->show(done);
    }

 private:
    std::string stage_;
    std::unique_ptr<Progress> progress_;
};

TokenizerRecipe recipe_of(const Arguments& arguments) {
    TokenizerRecipe recipe;
    const auto& names = k_tokenizer_kind_names;
    const auto kind = std::find(names.begin(), names.end(), arguments.text("tokenizer"));
    recipe.kind = static_cast<TokenizerKind>(kind - names.begin());
    if (recipe.kind == TokenizerKind::bpe && !arguments.given("vocab")) {
        bad_input("give --vocab N, the number of tokens to make");
    }
    if (arguments.given("vocab")) recipe.size = static_cast<int32_t>(arguments.integer("vocab"));
    recipe.special_tokens = arguments.texts("special");
    return recipe;
}

nlohmann::ordered_json report(const TrainedTokenizer& trained, const std::string& kind, const std::string& out) {
    return {{"format", "toy/tokenizer-train-v1"},
            {"path", out},
            {"tokenizer", kind},
            {"vocab", trained.size},
            {"data",
             {{"path", trained.source.path.string()},
              {"files", trained.source.files},
              {"bytes", trained.source.bytes},
              {"sha256", trained.source.sha256}}}};
}

int run(const Arguments& arguments) {
    for (const std::string_view flag : {"data", "out"}) {
        if (!arguments.given(flag)) bad_input("give --{}; `toy tokenizer --help` shows how", flag);
    }
    const std::string out = arguments.text("out");
    static_cast<void>(AtomicFile(out));  // what cannot be written is refused before the work, not after
    CorpusOptions options;
    options.format = data_format(arguments.text("data-format"));
    Stages stages;
    const TrainedTokenizer trained =
        train_tokenizer(recipe_of(arguments), arguments.text("data"), options,
                        [&](std::string_view stage, int64_t done, int64_t total) { stages.show(stage, done, total); });
    write_tokenizer(trained.metadata, out);
    const std::string kind = arguments.text("tokenizer");
    if (arguments.on("json")) {
        print_json(report(trained, kind, out));
    } else {
        print(fmt::format("{}: {} tokens ({}) from {} bytes in {} file{}\n", without_controls(out),
                          grouped(trained.size), kind, grouped(trained.source.bytes), grouped(trained.source.files),
                          trained.source.files == 1 ? "" : "s"));
    }
    return k_ok;
}

}  // namespace

extern const Command k_tokenizer;
const Command k_tokenizer{
    .name = "tokenizer",
    .summary = "make a vocabulary from texts",
    .description =
        "`toy tokenizer train` makes a vocabulary from a file or folder of texts and writes it as a GGUF file that "
        "holds "
        "nothing else; `toy tokenize`, `toy detokenize` and llama.cpp read it.\n\n"
        "bpe: byte-level BPE with GPT-2's pre-tokenizer, as many tokens as --vocab says. char: each character of the "
        "texts is a token. byte: the 256 bytes. Each has the control token <|endoftext|> besides, and those of "
        "--special.\n\n"
        "The same texts give the same file. docs/data.md describes the formats.",
    .positionals =
        {{.name = "action", .kind = Kind::choice, .summary = "train", .is_required = true, .choices = {"train"}}},
    .flags = {{.name = "data",
               .kind = Kind::file,
               .value = "PATH",
               .summary = "a text, JSON Lines, or a folder of both (required)"},
              {.name = "data-format",
               .kind = Kind::choice,
               .value = "FORMAT",
               .fallback = "auto",
               .summary = "what the data is; auto goes by each file's extension",
               .choices = {"auto", "text", "jsonl"}},
              {.name = "tokenizer",
               .kind = Kind::choice,
               .value = "KIND",
               .fallback = "bpe",
               .summary = "the kind of vocabulary",
               .choices = {"bpe", "char", "byte"}},
              {.name = "vocab",
               .kind = Kind::integer,
               .value = "N",
               .summary = "tokens of a bpe vocabulary, the control tokens included (required for bpe)",
               .least = 257,
               .most = 1 << 20},
              {.name = "special",
               .kind = Kind::text,
               .value = "TOKEN",
               .summary = "one more control token, as <|im_start|>",
               .repeats = true},
              {.name = "out", .kind = Kind::file, .value = "FILE", .summary = "the GGUF file to write (required)"}},
    .refused = {},
    .examples = {"toy tokenizer train --data book.txt --vocab 4096 --out book.gguf",
                 "toy tokenizer train --data chats.jsonl --vocab 8192 --special \"<|im_end|>\" --out chats.gguf",
                 "toy tokenizer train --data book.txt --tokenizer char --out characters.gguf"},
    .run = run,
};

}  // namespace toy::cli
