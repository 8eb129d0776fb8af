// toy imatrix: which columns of a model's weights matter, over a text.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/inference_flags.h"
#include "cli/interrupt.h"
#include "cli/metadata_text.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/prompt.h"
#include "core/error.h"
#include "core/progress.h"
#include "engine/importance.h"
#include "text/tokenizer.h"

namespace toy::cli {
namespace {

constexpr int64_t k_largest_chunk = 32768, k_most_chunks = 1 << 20;

struct Chunks {
    std::vector<int32_t> ids;
    int64_t size, count;
};

// The text's ids in whole chunks, each beginning with BOS where the model wants one, as llama.cpp cuts them.
Chunks cut(const Tokenizer& tokenizer, const std::string& text, const Arguments& arguments) {
    Chunks chunks{tokenizer.encode(text, {.add_special = true, .parse_special = arguments.on("parse-special")}),
                  arguments.integer("chunk"), 0};
    chunks.count = static_cast<int64_t>(chunks.ids.size()) / chunks.size;
    if (chunks.count == 0) {
        bad_input("the text has {} tokens, fewer than the {} of one chunk: give a longer text, or a smaller --chunk",
                  chunks.ids.size(), chunks.size);
    }
    if (arguments.given("chunks")) chunks.count = std::min(chunks.count, arguments.integer("chunks"));
    if (tokenizer.add_bos() && tokenizer.bos()) {
        for (int64_t i = 0; i < chunks.count; ++i) chunks.ids[static_cast<size_t>(i * chunks.size)] = *tokenizer.bos();
    }
    return chunks;
}

void collect(ImportanceCollector& collector, const Chunks& chunks) {
    const Polite polite;
    Progress progress("imatrix", chunks.count);
    for (int64_t i = 0; i < chunks.count; ++i) {
        if (is_interrupted()) failure("interrupted; nothing was written");
        collector.add(
            std::span(chunks.ids).subspan(static_cast<size_t>(i * chunks.size), static_cast<size_t>(chunks.size)));
        progress.show(i + 1);
    }
}

// Experts that no token went to: their weights count all inputs alike.
int64_t idle_experts(const ImportanceCollector& collector) {
    int64_t idle = 0;
    for (const auto& [name, entry] : collector.weights()) {
        idle += std::count(entry.counts.begin(), entry.counts.end(), 0);
    }
    return idle;
}

int run(const Arguments& arguments) {
    const Device device = Device::open(arguments.text("device"));
    const auto model = Model::load(find_model(arguments.positional(0)), device);
    const Metadata& metadata = model->file.metadata();
    if (!Tokenizer::is_present(metadata)) bad_input("{}: holds no tokenizer", metadata.origin());
    const std::string dataset = arguments.positional(1), output = arguments.positional(2);
    const Chunks chunks = cut(*Tokenizer::from_metadata(metadata), read_text(dataset), arguments);
    Runner runner(device,
                  arguments.given("threads") ? static_cast<int>(arguments.integer("threads")) : default_threads());
    ImportanceCollector collector(model, runner, chunks.size, arguments.on("process-output"));
    collect(collector, chunks);
    write_imatrix(output, collector.weights(), dataset, chunks.count, chunks.size);
    const int64_t idle = idle_experts(collector);
    if (arguments.on("json")) {
        print_json({{"format", "toy/imatrix-v1"},
                    {"model", metadata.origin()},
                    {"dataset", dataset},
                    {"output", output},
                    {"weights", collector.weights().size()},
                    {"chunks", chunks.count},
                    {"chunk_size", chunks.size},
                    {"idle_experts", idle}});
        return k_ok;
    }
    print(fmt::format("{}: {} weights over {} chunks of {} tokens\n", shown_name(output), collector.weights().size(),
                      chunks.count, chunks.size));
    if (idle > 0) print(fmt::format("{} expert matrices were never used: give a longer text\n", grouped(idle)));
    return k_ok;
}

}  // namespace

extern const Command k_imatrix;
const Command k_imatrix{
    .name = "imatrix",
    .summary = "measure which inputs of a model's weights matter, for quantize",
    .description =
        "Computes a text and writes an importance matrix: for every weight of the model's blocks the sums of the "
        "squares "
        "of its inputs, in llama.cpp's GGUF format. `toy quantize --imatrix` rounds the columns of large inputs with "
        "more care.\n\n"
        "The text should be like what the model will be used for, and of some hundred thousand tokens. It is cut into "
        "chunks that are computed each for itself; a rest shorter than a chunk is left out.",
    .positionals =
        {model_word(),
         {.name = "text", .kind = Kind::file, .summary = "a text file, or - for standard input", .is_required = true},
         {.name = "output", .kind = Kind::file, .summary = "the GGUF file to write", .is_required = true}},
    .flags = {{.name = "chunk",
               .kind = Kind::integer,
               .value = "N",
               .fallback = "512",
               .summary = "tokens of a chunk",
               .least = 2,
               .most = k_largest_chunk},
              {.name = "chunks",
               .kind = Kind::integer,
               .value = "N",
               .summary = "chunks to compute (default: all)",
               .least = 1,
               .most = k_most_chunks},
              {.name = "process-output", .summary = "measure the head's inputs too"},
              {.name = "parse-special",
               .summary = "control tokens that the text spells, as <|im_start|>, become those tokens"},
              threads_flag("threads that compute (default: the processor's cores)"),
              device_flag()},
    .refused = {},
    .examples = {"toy imatrix model-f16.gguf text.txt model.imatrix.gguf",
                 "toy quantize model-f16.gguf model-iq2.gguf IQ2_XS --imatrix model.imatrix.gguf"},
    .run = run,
};

}  // namespace toy::cli
