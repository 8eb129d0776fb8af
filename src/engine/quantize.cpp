#include "engine/quantize.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "io/gguf_writer.h"
#include "io/quote.h"

namespace toy {
namespace {

constexpr int64_t k_piece_elements = int64_t{1} << 23;  // of a tensor, converted before it is written
constexpr int64_t k_task_elements = int64_t{1} << 15;   // what a thread takes at a time
constexpr uint32_t k_quantization_version = 2;          // GGML_QNT_VERSION: of the layout of quantised blocks

/// One tensor on its way from one type to another.
struct Conversion {
    const GgufTensor* tensor;
    DType type;
    std::span<const float> importance;  ///< D for each matrix of the stack, or empty

    int64_t columns() const { return tensor->ne[0]; }
    int64_t rows() const { return tensor->ne[1] * tensor->ne[2] * tensor->ne[3]; }
    size_t source_row() const { return row_bytes(tensor->type, columns()); }
    size_t target_row() const { return row_bytes(type, columns()); }
};

void check_values(const Conversion& c, std::span<const float> values, int64_t first_row, float most, const char* what) {
    const auto bad = std::find_if_not(values.begin(), values.end(), [&](float x) { return std::abs(x) <= most; });
    if (bad == values.end()) return;
    const int64_t at = bad - values.begin();
    bad_input("tensor {}: {} {} at row {}, column {}", quote(c.tensor->name), what, *bad, first_row + at / c.columns(),
              at % c.columns());
}

/// Buffers of one thread, and what it does with some rows.
class RowConverter {
 public:
    explicit RowConverter(const Conversion& conversion) : c_(conversion) {}

    /// Rows that share a matrix of the stack.
    void convert(int64_t first, int64_t count, std::span<std::byte> target) {
        const auto elements = static_cast<size_t>(count * c_.columns());
        const std::span rows = c_.tensor->bytes.subspan(static_cast<size_t>(first) * c_.source_row(),
                                                        static_cast<size_t>(count) * c_.source_row());
        source_.assign(rows.begin(), rows.end());  // the file need not align it
        values_.resize(elements);
        to_f32(c_.tensor->type, source_.data(), values_.data(), static_cast<int64_t>(elements));
        check_values(c_, values_, first, std::numeric_limits<float>::max(), "holds");
        check_values(c_, values_, first, largest_value(c_.type), "is too large for the type: it holds");
        std::span<const float> importance = c_.importance;
        if (!importance.empty()) {
            const auto matrix = static_cast<size_t>(first / c_.tensor->ne[1] % c_.tensor->ne[2] * c_.columns());
            importance = importance.subspan(matrix, static_cast<size_t>(c_.columns()));
        }
        from_f32(c_.type, values_, c_.columns(), importance, target);
        to_f32(c_.type, target.data(), values_.data(), static_cast<int64_t>(elements));
        check_values(c_, values_, first, std::numeric_limits<float>::max(),
                     "its values are too large for the type: one becomes");
    }

 private:
    const Conversion& c_;
    std::vector<std::byte> source_;
    std::vector<float> values_;
};

/// Converts `count` rows from `first` on, on several threads. Each takes the next rows that are free; rows of two
/// matrices of a stack are never taken together.
void convert_piece(const Conversion& c, int64_t first, int64_t count, int threads, std::span<std::byte> target) {
    const int64_t at_once = std::max<int64_t>(1, k_task_elements / c.columns());
    const int64_t per_matrix = std::max<int64_t>(1, c.tensor->ne[1]);
    std::mutex mutex;
    int64_t next = first;
    std::exception_ptr error;
    const auto work = [&] {
        try {
            RowConverter converter(c);
            while (true) {
                int64_t row = 0, rows = 0;
                {
                    const std::scoped_lock lock(mutex);
                    row = next;
                    rows = std::min({at_once, first + count - row, per_matrix - row % per_matrix});
                    if (rows <= 0 || error) return;
                    next += rows;
                }
                converter.convert(row, rows,
                                  target.subspan(static_cast<size_t>(row - first) * c.target_row(),
                                                 static_cast<size_t>(rows) * c.target_row()));
            }
        } catch (...) {
            const std::scoped_lock lock(mutex);
            if (!error) error = std::current_exception();
        }
    };
    std::vector<std::jthread> helpers;
    const int64_t tasks = (count + at_once - 1) / at_once;
    for (int64_t i = 1; i < std::min<int64_t>(threads, tasks); ++i) helpers.emplace_back(work);
    work();
    helpers.clear();
    if (error) std::rethrow_exception(error);
}

class Quantizer {
 public:
    Quantizer(const Gguf& input, const QuantizeOptions& options) : input_(input), options_(options) {
        report_.tensors = options.target == nullptr
                              ? keep_types(input)
                              : choose_types(input, *options.target, options.is_pure, options.importance != nullptr);
        for (const TypeChoice& choice : report_.tensors) {
            report_.bytes_before += choice.tensor->bytes.size();
            report_.bytes_after += bytes_of(choice);
            add_tensor(choice);
        }
        copy_keys();
    }

    QuantizeReport write(const std::filesystem::path& path) {
        if (!options_.is_dry_run) writer_.write(path);
        return std::move(report_);
    }

 private:
    static uint64_t bytes_of(const TypeChoice& choice) {
        const GgufTensor& t = *choice.tensor;
        return t.elements() == 0 ? 0 : row_bytes(choice.type, t.ne[0]) * static_cast<size_t>(t.elements() / t.ne[0]);
    }

    void add_tensor(const TypeChoice& choice) {
        const GgufTensor& tensor = *choice.tensor;
        const std::vector<int64_t> ne(tensor.ne.begin(), tensor.ne.begin() + tensor.rank);
        if (choice.type == tensor.type) {
            writer_.add(tensor.name, tensor.type, ne, [this, &tensor](const auto& write) {
                write(tensor.bytes);
                advance(tensor.bytes.size());
            });
            return;
        }
        check_source(tensor, choice.type);
        const Conversion conversion{&tensor, choice.type, importance_of(choice)};
        writer_.add(tensor.name, choice.type, ne,
                    [this, conversion](const auto& write) { convert(conversion, write); });
    }

    void check_source(const GgufTensor& tensor, DType type) const {
        if (!converts_to_f32(tensor.type)) {
            bad_input("tensor {} holds {}, which cannot be written as {}", quote(tensor.name), name(tensor.type),
                      name(type));
        }
        if (is_quantized(tensor.type) && !options_.may_requantize) {
            bad_input(
                "tensor {} is quantised already ({}): quantise from the f32, f16 or bf16 model, or accept the loss "
                "with "
                "--allow-requantize",
                quote(tensor.name), name(tensor.type));
        }
    }

    /// What the matrix says of the tensor, or nothing.
    std::span<const float> importance_of(const TypeChoice& choice) {
        const GgufTensor& tensor = *choice.tensor;
        const std::vector<float>* found = nullptr;
        if (options_.importance != nullptr) {
            const auto at = options_.importance->weights.find(tensor.name);
            if (at != options_.importance->weights.end()) found = &at->second;
            const auto expected = static_cast<size_t>(tensor.ne[0] * tensor.ne[2]);
            if (found != nullptr && found->size() != expected) {
                // The embedding is looked up, not multiplied with: what counts as its input varies.
                if (tensor.name != "token_embd.weight" && tensor.name != "per_layer_token_embd.weight") {
                    bad_input("{}: has {} values for tensor {}, whose rows need {}", options_.importance->origin,
                              found->size(), quote(tensor.name), expected);
                }
                found = nullptr;
            }
            if (found == nullptr) report_.without_importance.push_back(tensor.name);
        }
        const bool is_needed = choice.asks_for_importance || needs_importance(choice.type);
        if (found != nullptr) return *found;
        if (!is_needed) return {};
        if (options_.importance == nullptr && options_.is_dry_run) {
            report_.asking_for_importance.push_back(tensor.name);
            return {};
        }
        if (options_.importance == nullptr) {
            bad_input("tensor {} cannot be written as {} without an importance matrix: give one with --imatrix",
                      quote(tensor.name), name(choice.type));
        }
        bad_input("{}: says nothing of tensor {}, which needs it to be written as {}", options_.importance->origin,
                  quote(tensor.name), name(choice.type));
    }

    void convert(const Conversion& c, const std::function<void(std::span<const std::byte>)>& write) {
        if (c.tensor->elements() == 0) return;
        const int64_t at_once = std::max<int64_t>(1, k_piece_elements / c.columns());
        for (int64_t first = 0; first < c.rows(); first += at_once) {
            const int64_t count = std::min(at_once, c.rows() - first);
            converted_.resize(static_cast<size_t>(count) * c.target_row());
            convert_piece(c, first, count, options_.threads, converted_);
            write(converted_);
            advance(static_cast<size_t>(count) * c.source_row());
        }
    }

    void advance(uint64_t bytes) {
        done_ += bytes;
        if (options_.progress) options_.progress(done_, report_.bytes_before);
    }

    void copy_keys() {
        const bool keeps_types = options_.target == nullptr;
        const Value* file_type = input_.metadata().find("general.file_type");
        for (const auto& [key, value] : input_.metadata().entries()) {
            const bool is_set_below = key == "general.file_type" || key == "general.quantization_version";
            const bool is_of_split = key == "split.no" || key == "split.count" || key == "split.tensors.count";
            const bool is_of_matrix = options_.importance != nullptr && key.starts_with("quantize.imatrix.");
            if (!is_set_below && !is_of_split && !is_of_matrix) writer_.copy(key, value);
        }
        writer_.set("general.quantization_version", k_quantization_version);
        if (!keeps_types) {
            writer_.set("general.file_type", static_cast<uint32_t>(options_.target->code));
        } else if (file_type != nullptr) {
            writer_.set("general.file_type", *file_type);
        }
        if (options_.importance != nullptr) set_importance_keys(*options_.importance);
    }

    void set_importance_keys(const ImportanceMatrix& m) {
        writer_.set("quantize.imatrix.file", std::filesystem::path(m.origin).filename().string());
        if (!m.datasets.empty()) writer_.set("quantize.imatrix.dataset", m.datasets.front());
        writer_.set("quantize.imatrix.entries_count", static_cast<uint32_t>(m.weights.size()));
        if (m.chunks > 0) writer_.set("quantize.imatrix.chunks_count", static_cast<uint32_t>(m.chunks));
    }

    const Gguf& input_;
    const QuantizeOptions& options_;
    QuantizeReport report_;
    GgufWriter writer_;
    std::vector<std::byte> converted_;
    uint64_t done_ = 0;
};

}  // namespace

size_t QuantizeReport::fallbacks() const {
    return static_cast<size_t>(std::count_if(tensors.begin(), tensors.end(),
                                             [](const TypeChoice& choice) { return choice.type != choice.wanted; }));
}

QuantizeReport quantize(const Gguf& input, const std::filesystem::path& output, const QuantizeOptions& options) {
    for (const auto& part : input.parts()) {
        std::error_code ignored;
        if (std::filesystem::equivalent(output, part->path(), ignored)) {
            bad_input("{}: is the file that is read; name another to write", output.native());
        }
    }
    return Quantizer(input, options).write(output);
}

}  // namespace toy
