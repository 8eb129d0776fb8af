#include "cli/inference_flags.h"

#include "cli/numbers.h"
#include "core/error.h"
#include "io/discover.h"

namespace toy::cli {
namespace {

constexpr int64_t k_most_threads = 512;
// Activations of a chunk take memory in proportion to it.
constexpr int64_t k_largest_chunk = 32768;

}  // namespace

Flag threads_flag(std::string_view summary) {
    return {.name = "threads",
            .letter = 't',
            .kind = Kind::integer,
            .value = "N",
            .summary = summary,
            .least = 1,
            .most = k_most_threads};
}

Flag device_flag() {
    return {.name = "device",
            .kind = Kind::text,
            .value = "NAME",
            .fallback = "cpu",
            .summary = "device that computes; one that is not there is an error"};
}

std::vector<Flag> inference_flags(bool as_lists) {
    std::vector<Flag> flags = {
        threads_flag("threads that compute (default: the processor's cores)"),
        {.name = "kv-type",
         .kind = Kind::choice,
         .value = "TYPE",
         .fallback = "f16",
         .summary = "type of the cache of keys and values",
         .choices = {"f32", "f16", "bf16", "q8_0", "q4_0"}},
        {.name = "flash-attention", .kind = Kind::on_off, .fallback = "on", .summary = "fused attention"},
        {.name = "repack",
         .kind = Kind::on_off,
         .fallback = "on",
         .summary = "second copies of quantised weights in a faster layout, where that pays"},
        {.name = "chunk",
         .kind = Kind::integer,
         .value = "N",
         .fallback = "512",
         .summary = "prompt tokens computed at once",
         .least = 1,
         .most = k_largest_chunk},
    };
    for (Flag& flag : flags) flag.is_list = as_lists;
    flags.insert(flags.begin() + 1, device_flag());
    return flags;
}

Inference::Options read_inference(const Arguments& arguments) {
    Inference::Options options;
    if (arguments.given("threads")) options.threads = static_cast<int>(arguments.integer("threads"));
    options.cache_type = cache_type_of(arguments.text("kv-type"));
    options.flash_attention = arguments.on("flash-attention");
    options.repack = arguments.on("repack");
    options.chunk = arguments.integer("chunk");
    return options;
}

DType cache_type_of(std::string_view name) {
    if (const std::optional<DType> type = dtype_from_name(name)) return *type;
    bad_input("'{}' is no type", name);
}

std::filesystem::path find_model(const std::string& argument) {
    return resolve_model(argument, ModelPlaces::from_environment());
}

Positional model_word() {
    return {.name = "model",
            .kind = Kind::model,
            .summary = "a GGUF file, or the name of a model that `toy list` shows",
            .is_required = true};
}

void check_memory(const Spec& spec, const Device& device, const Inference::Options& options) {
    const size_t needed = KvCache::bytes_for(spec, {options.slots, options.context, options.cache_type});
    const size_t total = device.memory().total;
    if (needed > total) {
        failure("a cache for {} tokens takes {}, but {} has {}: pass a smaller --ctx or --kv-type q8_0",
                grouped(options.context), human_bytes(needed), device.name(), human_bytes(total));
    }
}

}  // namespace toy::cli
