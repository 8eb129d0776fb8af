#include "models/save_model.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "io/gguf_writer.h"
#include "io/model_file.h"
#include "models/write_spec.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

using Use = WeightEntry::Use;

constexpr size_t k_piece_bytes = size_t{1} << 24;  // what is held of one weight at a time
constexpr uint32_t k_quantization_version = 2;     // GGML_QNT_VERSION: of the layout of quantised blocks
constexpr std::string_view k_name_key = "general.name", k_architecture_key = "general.architecture";

void copy_bytes(Tensor weight, const auto& write) {
    const size_t size = weight.layout().bytes();
    std::vector<std::byte> piece(std::min(size, k_piece_bytes));
    for (size_t done = 0; done < size; done += piece.size()) {
        piece.resize(std::min(piece.size(), size - done));
        read(weight, piece, done);
        write(piece);
    }
}

void convert_rows(Tensor weight, DType type, const auto& write) {
    const int64_t columns = weight.layout().ne[0], rows = weight.layout().rows();
    const int64_t fit = static_cast<int64_t>(k_piece_bytes / sizeof(float)) / std::max<int64_t>(columns, 1);
    const int64_t at_once = std::max<int64_t>(1, fit);
    for (int64_t first = 0; first < rows; first += at_once) {
        const std::vector<float> values = read_rows_f32(weight, first, std::min(at_once, rows - first));
        const std::vector<uint8_t> converted = from_f32(type, values, columns);
        write(std::as_bytes(std::span(converted)));
    }
}

GgufWriter::Source source_of(Tensor weight, DType type) {
    return [weight, type](const std::function<void(std::span<const std::byte>)>& write) {
        weight.dtype() == type ? copy_bytes(weight, write) : convert_rows(weight, type, write);
    };
}

DType type_of(const WeightEntry& entry, const SaveOptions& options) {
    if (entry.use == Use::raw) return DType::F32;
    if (!options.type_of) return entry.slot->dtype();
    const DType type = options.type_of(entry);
    if (type != entry.slot->dtype() && needs_importance(type)) {
        bad_input(
            "tensor '{}' cannot be written as {} without an importance matrix: write another type, then use toy "
            "quantize --imatrix",
            entry.name, name(type));
    }
    return type;
}

void add_weights(GgufWriter& writer, const std::vector<WeightEntry>& table, const SaveOptions& options) {
    for (const WeightEntry& entry : table) {
        const DType type = type_of(entry, options);
        const std::vector<int64_t> ne(entry.shape.rbegin(), entry.shape.rend());
        writer.add(entry.name, type, ne, source_of(*entry.slot, type));
    }
}

// The type of most elements that may have another type than f32.
DType main_type(const std::vector<WeightEntry>& table, const SaveOptions& options) {
    std::map<DType, int64_t> elements;
    for (const WeightEntry& entry : table) {
        if (entry.use != Use::raw) elements[type_of(entry, options)] += entry.slot->layout().elements();
    }
    const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::max_element(elements.begin(), elements.end(), more)->first;
}

void add_general_keys(GgufWriter& writer, const Metadata& own, const SaveOptions& options, DType type) {
    writer.set(std::string(k_architecture_key), own.string(k_architecture_key));
    if (const std::string* name = own.find_string(k_name_key); name != nullptr && !options.extra.has(k_name_key)) {
        writer.set(std::string(k_name_key), *name);
    }
    for (const auto& [key, value] : options.extra.entries()) writer.set(key, value);
    const auto known = std::find_if(file_types().begin(), file_types().end(),
                                    [&](const FileType& file_type) { return file_type.type == type; });
    if (known != file_types().end() && !options.extra.has("general.file_type")) {
        writer.set("general.file_type", static_cast<uint32_t>(known->code));
    }
    if (is_quantized(type)) writer.set("general.quantization_version", k_quantization_version);
}

void add_tokenizer(GgufWriter& writer, const Metadata& source, int64_t vocabulary) {
    const Value* tokens = source.find("tokenizer.ggml.tokens");
    const Array* array = tokens == nullptr ? nullptr : std::get_if<Array>(tokens);
    if (array != nullptr && static_cast<int64_t>(size_of(*array)) != vocabulary) {
        bad_input("{}: the tokenizer has {} tokens, but the model {}", source.origin(), size_of(*array), vocabulary);
    }
    for (const auto& [key, value] : source.entries()) {
        if (key.starts_with("tokenizer.")) writer.copy(key, value);
    }
}

void refuse_own_source(const std::filesystem::path& path, const Metadata& source) {
    std::error_code ignored;
    if (std::filesystem::equivalent(path, source.origin(), ignored)) {
        bad_input("{}: is the file that the model comes from; name another to write", path.native());
    }
}

}  // namespace

void save_model(const std::filesystem::path& path, const Decoder& model, const SaveOptions& options) {
    if (options.tokenizer != nullptr) refuse_own_source(path, *options.tokenizer);
    Decoder weights = model;
    const std::vector<WeightEntry> table = weight_table(weights);
    const Metadata own = write_spec(model.spec);
    GgufWriter writer;
    add_general_keys(writer, own, options, main_type(table, options));
    for (const auto& [key, value] : own.entries()) {
        if (!key.starts_with("general.")) writer.set(key, value);
    }
    if (options.tokenizer != nullptr) add_tokenizer(writer, *options.tokenizer, model.spec.vocabulary);
    add_weights(writer, table, options);
    writer.write(path);
}

}  // namespace toy
