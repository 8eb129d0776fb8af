// toy describe: what is in a model file, and what running it needs.
#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/arguments.h"
#include "cli/inference_flags.h"
#include "cli/metadata_text.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/text_table.h"
#include "core/error.h"
#include "engine/kv_cache.h"
#include "io/quote.h"
#include "models/family.h"
#include "models/model.h"
#include "text/tokenizer.h"

namespace toy::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array k_cache_types = {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0};
constexpr std::array<int64_t, 5> k_contexts = {512, 2048, 8192, 32768, 131072};

/// A file with what could be made of it; `notes` says what could not.
struct Described {
    std::shared_ptr<const Model> model;  ///< null where toy cannot run it
    std::shared_ptr<const Gguf> file;
    std::shared_ptr<const Tokenizer> tokenizer;
    std::vector<std::string> notes;
};

void note_copies(Described& described) {
    const std::vector<std::string>& copied = described.model->params.copied_for_alignment();
    if (copied.empty()) return;
    described.notes.push_back(
        fmt::format("{} tensors are not 32-byte aligned in the file and were copied into memory, {} of it: {}{}",
                    copied.size(), human_bytes(described.model->params.allocated_bytes()), shown_name(copied.front()),
                    copied.size() > 1 ? ", …" : ""));
}

Described open(const std::filesystem::path& path) {
    Described described;
    try {
        described.model = Model::load(path, Device::cpu());
        described.file = {described.model, &described.model->file};
        note_copies(described);
    } catch (const Error& error) {
        described.file = std::make_shared<Gguf>(Gguf::open(path));  // throws where the file itself is bad
        described.notes.push_back(fmt::format("toy cannot run this file: {}", error.what()));
    }
    try {
        const Metadata& metadata = described.file->metadata();
        if (Tokenizer::is_present(metadata)) {
            described.tokenizer = Tokenizer::from_metadata(metadata);
        } else {
            described.notes.emplace_back("there is no tokenizer in the file: prompts have to be ids");
        }
    } catch (const Error& error) {
        described.notes.push_back(fmt::format("toy cannot use its tokenizer: {}", error.what()));
    }
    return described;
}

int64_t parameter_count(const Gguf& file) {
    int64_t count = 0;
    for (const GgufTensor& tensor : file.tensors()) count += tensor.elements();
    return count;
}

uint64_t file_bytes(const Gguf& file) {
    uint64_t bytes = 0;
    for (const auto& part : file.parts()) bytes += part->bytes().size();
    return bytes;
}

struct TypeShare {
    size_t tensors = 0;
    uint64_t bytes = 0;
};
std::map<DType, TypeShare> types_of(const Gguf& file) {
    std::map<DType, TypeShare> types;
    for (const GgufTensor& tensor : file.tensors()) {
        ++types[tensor.type].tensors;
        types[tensor.type].bytes += tensor.bytes.size();
    }
    return types;
}

std::string family_of(const Gguf& file) {
    const Value* value = file.metadata().find("general.architecture");
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    return text == nullptr ? "" : *text;
}

// Lengths worth knowing: some usual ones below what the model was trained for, and that.
std::vector<int64_t> contexts_of(const Spec& spec) {
    std::vector<int64_t> contexts;
    for (int64_t context : k_contexts) {
        if (context < spec.context) contexts.push_back(context);
    }
    contexts.push_back(spec.context);
    return contexts;
}

// Nothing where the cache cannot have that type, or the context is beyond what a cache holds.
std::optional<size_t> cache_bytes(const Spec& spec, int64_t context, DType type) {
    try {
        return KvCache::bytes_for(spec, {1, context, type});
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::string memory_table(const Described& described) {
    TextTable table(std::vector<TextTable::Side>(1 + k_cache_types.size(), TextTable::Side::right));
    std::vector<std::string> head{"context"};
    for (DType type : k_cache_types) head.push_back(fmt::format("{} cache", name(type)));
    table.add(head);
    const Spec& spec = described.model->spec();
    const std::string weights = fmt::format("memory: weights {}", human_bytes(described.model->weight_bytes()));
    if (!spec.has_head) return weights + "; an encoder keeps nothing between texts\n";
    for (int64_t context : contexts_of(spec)) {
        std::vector<std::string> row{grouped(context)};
        for (DType type : k_cache_types) {
            const std::optional<size_t> bytes = cache_bytes(spec, context, type);
            row.push_back(bytes ? human_bytes(*bytes) : "-");
        }
        table.add(row);
    }
    return fmt::format("{}, and for each sequence by context length\n{}", weights, table.text("  "));
}

std::string tokenizer_line(const Tokenizer& tokenizer) {
    std::string line = fmt::format("{}, {} tokens", tokenizer.kind(), grouped(tokenizer.size()));
    if (!tokenizer.pre().empty()) line += fmt::format(", pre-tokenizer {}", tokenizer.pre());
    if (const auto bos = tokenizer.bos()) {
        line += fmt::format(", BOS {}{}", *bos, tokenizer.add_bos() ? "" : " (not added)");
    }
    if (const auto eos = tokenizer.eos()) line += fmt::format(", EOS {}", *eos);
    return line;
}

std::string feed_forward_line(const Spec& s) {
    const ExpertsSpec& e = s.experts;
    if (e.count == 0) return s.ffn_width == 0 ? "no feed-forward" : fmt::format("feed-forward {}", s.ffn_width);
    std::string line = fmt::format("{} of {} experts of {} for each token", e.routing.used, e.count, e.width);
    if (e.shared_width > 0) line += fmt::format(", {} shared", e.shared_width);
    if (e.leading_dense > 0) line += fmt::format("; the first {} dense, {}", e.leading_dense, s.ffn_width);
    return line;
}

std::string mixer_line(const Spec& s) {
    if (s.is_recurrent()) {
        const StateSpaceSpec& n = s.state_space;
        return fmt::format("Mamba{}, {} heads of {} with {} states each, convolution over {} tokens",
                           n.version == 2 ? "-2" : "", n.heads, n.head_size(), n.state, n.kernel);
    }
    if (s.latent.rank > 0) return fmt::format("{} heads of {}, latent rows of {}", s.heads, s.head_size, s.latent.rank);
    std::string line = fmt::format("{} heads of {}, {} of keys and values", s.heads, s.head_size, s.kv_heads);
    const auto is_windowed = [](const LayerSpec& layer) { return layer.window > 0; };
    const auto windowed = std::count_if(s.layer.begin(), s.layer.end(), is_windowed);
    if (windowed > 0) {
        const int64_t window = std::find_if(s.layer.begin(), s.layer.end(), is_windowed)->window;
        line += fmt::format(", window of {}", window);
        if (windowed < s.layers) line += fmt::format(" in {} layers", windowed);
        line += "; the cache keeps all rows";
    }
    return line;
}

std::string positions_line(const Spec& s) {
    if (s.has_position_embd) return fmt::format("{} learned", grouped(s.context));
    const Rope& rope = s.layer.front().rope;
    std::string line = fmt::format("rope base {}, {} dimensions", rope.base, rope.dims);
    if (rope.ext_factor != 0.0f)
        line += fmt::format(", YaRN by {}", 1.0f / rope.frequency_scale);
    else if (rope.frequency_scale != 1.0f)
        line += fmt::format(", stretched by {}", 1.0f / rope.frequency_scale);
    if (s.has_rope_factors) line += ", slowed by rope_freqs.weight";
    if (s.has_long_rope_factors) line += fmt::format(", LongRoPE beyond {} tokens", rope.original_context);
    return line;
}

void add_architecture(TextTable& table, const Spec& s) {
    table.add({"context", fmt::format("{} tokens", grouped(s.context))});
    table.add({"layers", fmt::format("{} of width {}, {}", s.layers, s.width, feed_forward_line(s))});
    table.add({s.is_recurrent() ? "state space" : "attention", mixer_line(s)});
    if (!s.is_recurrent()) table.add({"positions", positions_line(s)});
    table.add({"vocabulary", fmt::format("{}, {}", grouped(s.vocabulary),
                                         !s.has_head ? "no head: embeddings only"
                                         : s.is_tied ? "head tied to the embedding"
                                                     : "own head")});
}

std::string summary(const Described& described) {
    const Gguf& file = *described.file;
    TextTable table({TextTable::Side::left, TextTable::Side::left});
    table.add({"file", fmt::format("{}, {}, GGUF version {}", shown_name(file.path().string()),
                                   human_bytes(file_bytes(file)), file.version())});
    if (described.model && !described.model->spec().name.empty()) {
        table.add({"name", quote(described.model->spec().name)});
    }
    table.add({"family", shown_name(family_of(file))});
    const int64_t parameters = parameter_count(file);
    table.add({"parameters", fmt::format("{} ({})", grouped(parameters), human_count(parameters))});
    for (const auto& [type, share] : types_of(file)) {
        table.add({"type", fmt::format("{}: {} tensors, {}", name(type), share.tensors, human_bytes(share.bytes))});
    }
    if (described.model) add_architecture(table, described.model->spec());
    if (described.tokenizer) table.add({"tokenizer", tokenizer_line(*described.tokenizer)});
    std::string text = table.text();
    if (described.model) text += "\n" + memory_table(described);
    if (!described.notes.empty()) text += "\nnotes\n";
    for (const std::string& note : described.notes) text += wrapped(note, 2);
    return text;
}

std::string lists(const Gguf& file) {
    TextTable table({TextTable::Side::left, TextTable::Side::left});
    for (const auto& [key, value] : file.metadata().entries()) table.add({shown_name(key), shown_value(value)});
    return fmt::format("\nmetadata: {} keys\n{}\ntensors: {}, shapes with rows first\n{}",
                       file.metadata().entries().size(), table.text("  "), file.tensors().size(), tensor_table(file));
}

Json architecture_json(const Spec& s) {
    Json json = {{"context", s.context},
                 {"layers", s.layers},
                 {"width", s.width},
                 {"heads", s.heads},
                 {"kv_heads", s.kv_heads},
                 {"head_size", s.head_size},
                 {"value_size", s.value_size},
                 {"ffn_width", s.ffn_width},
                 {"vocabulary", s.vocabulary},
                 {"eps", s.eps},
                 {"tied", s.is_tied},
                 {"experts", s.experts.count},
                 {"experts_used", s.experts.routing.used}};
    json["rope_base"] = s.layer.front().rope.base;
    json["rope_dims"] = s.layer.front().rope.dims;
    // The window of each layer, 0 where a token sees all before it.
    json["windows"] = Json::array();
    for (const LayerSpec& layer : s.layer) json["windows"].push_back(layer.window);
    return json;
}

Json memory_json(const Spec& spec) {
    Json rows = Json::array();
    for (int64_t context : contexts_of(spec)) {
        Json cache;
        for (DType type : k_cache_types) {
            const std::optional<size_t> bytes = cache_bytes(spec, context, type);
            cache[std::string(name(type))] = bytes ? Json(*bytes) : Json();
        }
        rows.push_back({{"context", context}, {"cache_b", cache}});
    }
    return rows;
}

Json tokenizer_json(const Tokenizer& tokenizer) {
    Json json = {{"kind", tokenizer.kind()}, {"tokens", tokenizer.size()}};
    if (!tokenizer.pre().empty()) json["pre"] = tokenizer.pre();
    const auto id = [](std::optional<int32_t> token) { return token ? Json(*token) : Json(); };
    json["bos"] = id(tokenizer.bos());
    json["eos"] = id(tokenizer.eos());
    json["add_bos"] = tokenizer.add_bos();
    json["add_eos"] = tokenizer.add_eos();
    json["end_of_generation"] = tokenizer.end_of_generation();
    return json;
}

Json report(const Described& described) {
    const Gguf& file = *described.file;
    Json json = {{"format", "toy/describe-v1"}, {"path", file.path().string()}, {"family", family_of(file)}};
    json["n_params"] = parameter_count(file);
    json["size_b"] = file_bytes(file);
    json["runs"] = described.model != nullptr;
    json["arch"] = described.model ? architecture_json(described.model->spec()) : Json::object();
    if (described.model) json["weights_b"] = described.model->weight_bytes();
    if (described.model) json["memory"] = memory_json(described.model->spec());
    if (described.tokenizer) json["tokenizer"] = tokenizer_json(*described.tokenizer);
    json["types"] = Json::object();
    for (const auto& [type, share] : types_of(file)) {
        json["types"][std::string(name(type))] = {{"tensors", share.tensors}, {"bytes", share.bytes}};
    }
    json["notes"] = described.notes;
    json["metadata"] = Json::object();
    for (const auto& [key, value] : file.metadata().entries()) json["metadata"][key] = json_value(value);
    json["tensors"] = Json::array();
    for (const GgufTensor& tensor : file.tensors()) {
        std::vector<int64_t> shape(tensor.ne.begin(), tensor.ne.begin() + tensor.rank);
        std::reverse(shape.begin(), shape.end());
        json["tensors"].push_back({{"name", tensor.name},
                                   {"type", name(tensor.type)},
                                   {"shape", shape},
                                   {"part", tensor.part},
                                   {"offset", tensor.offset},
                                   {"bytes", tensor.bytes.size()}});
    }
    return json;
}

int run(const Arguments& arguments) {
    const Described described = open(find_model(arguments.positional(0)));
    if (arguments.on("json")) {
        print_json(report(described));
    } else {
        print(summary(described) + (arguments.on("brief") ? "" : lists(*described.file)));
    }
    return k_ok;
}

}  // namespace

extern const Command k_describe;
const Command k_describe{
    .name = "describe",
    .summary = "show what is in a model file and what it needs",
    .description =
        "Prints a model's family, exact parameter count, types, shape and tokenizer, the memory that it takes "
        "by context length and cache type, then all metadata (long arrays cut) and all tensors.\n\n"
        "A file that toy can read but not run is described too; a note says why it cannot run.",
    .positionals = {model_word()},
    .flags = {{.name = "brief", .letter = 'b', .summary = "leave out the lists of metadata and tensors"}},
    .refused = {},
    .examples = {"toy describe model.gguf --brief", "toy describe model.gguf --json"},
    .run = run,
};

}  // namespace toy::cli
