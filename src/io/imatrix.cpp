#include "io/imatrix.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "core/error.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"
#include "io/quote.h"

namespace toy {
namespace {

constexpr std::string_view k_sums = ".in_sum2", k_counts = ".counts";
constexpr int32_t k_most_entries = 1 << 20, k_most_name_bytes = 1 << 12;

void add(ImportanceMatrix& m, const std::string& name, std::vector<float> values) {
    for (const float value : values) {
        if (!(value >= 0.0f && value <= k_largest_importance)) {
            bad_input("{}: the importance of {} holds {}, which is no mean of squares", m.origin, quote(name), value);
        }
    }
    if (!m.weights.emplace(name, std::move(values)).second) {
        bad_input("{}: holds two importances of {}", m.origin, quote(name));
    }
}

std::vector<float> floats_of(const GgufTensor& tensor, const std::string& origin) {
    if (tensor.type != DType::F32) {
        bad_input("{}: tensor {} is {}, not f32", origin, quote(tensor.name), name(tensor.type));
    }
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
}

// How often an expert was used, as a whole number.
float count_of(float stored, const GgufTensor& tensor, const std::string& origin) {
    constexpr float k_most = 1e15f;
    if (!(stored >= 0.0f) || stored > k_most) {
        bad_input("{}: tensor {} holds {}, which is no count", origin, quote(tensor.name), stored);
    }
    return static_cast<float>(std::llround(stored));
}

void add_pair(ImportanceMatrix& m, const std::string& weight, const GgufTensor& sums, const GgufTensor& counts) {
    std::vector<float> values = floats_of(sums, m.origin);
    const std::vector<float> uses = floats_of(counts, m.origin);
    if (uses.empty() || values.empty() || values.size() % uses.size() != 0) {
        bad_input("{}: {} has {} sums for {} counts", m.origin, quote(weight), values.size(), uses.size());
    }
    const size_t each = values.size() / uses.size();
    for (size_t expert = 0; expert < uses.size(); ++expert) {
        const float count = count_of(uses[expert], counts, m.origin);
        for (size_t i = expert * each; i < (expert + 1) * each; ++i) {
            values[i] = count > 0.0f ? values[i] / count : 1.0f;
        }
    }
    add(m, weight, std::move(values));
}

ImportanceMatrix from_gguf(const std::filesystem::path& path) {
    const Gguf file = Gguf::open(path);
    ImportanceMatrix m{file.metadata().origin(), {}, {}, 0};
    if (!file.metadata().has("imatrix.datasets")) {
        bad_input("{}: is no importance matrix: it has no key 'imatrix.datasets'", m.origin);
    }
    m.datasets = file.metadata().strings("imatrix.datasets");
    m.chunks = file.metadata().integer("imatrix.chunk_count");
    file.metadata().integer("imatrix.chunk_size");  // which throws where it is missing
    for (const GgufTensor& tensor : file.tensors()) {
        const std::string_view name = tensor.name;
        const bool is_sums = name.ends_with(k_sums);
        if (!is_sums && !name.ends_with(k_counts)) continue;
        const std::string weight(name.substr(0, name.size() - (is_sums ? k_sums : k_counts).size()));
        const std::string partner = weight + std::string(is_sums ? k_counts : k_sums);
        const GgufTensor* other = file.find(partner);
        if (other == nullptr) bad_input("{}: there is {}, but no tensor {}", m.origin, quote(name), quote(partner));
        if (is_sums) add_pair(m, weight, tensor, *other);
    }
    return m;
}

/// The bytes of a legacy file, read from front to back.
class Bytes {
 public:
    Bytes(std::span<const std::byte> bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}

    bool is_at_end() const { return at_ == bytes_.size(); }
    std::span<const std::byte> take(size_t n, const char* what) {
        if (n > bytes_.size() - at_) {
            bad_input("{}: ends at byte {} within {} that begins at byte {}", origin_, bytes_.size(), what, at_);
        }
        const auto part = bytes_.subspan(at_, n);
        at_ += n;
        return part;
    }
    int32_t number(int32_t least, int32_t most, const char* what) {
        const size_t begin = at_;
        int32_t value = 0;
        std::memcpy(&value, take(sizeof(value), what).data(), sizeof(value));
        if (value < least || value > most) {
            bad_input("{}: is no importance matrix: {} at byte {} is {}, but must lie in {}..{}", origin_, what, begin,
                      value, least, most);
        }
        return value;
    }
    std::string text(int32_t length, const char* what) {
        const auto bytes = take(static_cast<size_t>(length), what);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

 private:
    std::span<const std::byte> bytes_;
    const std::string& origin_;
    size_t at_ = 0;
};

ImportanceMatrix from_legacy(const MappedFile& file) {
    constexpr int32_t k_most = std::numeric_limits<int32_t>::max();
    ImportanceMatrix m{file.path().string(), {}, {}, 0};
    Bytes bytes(file.bytes(), m.origin);
    const int32_t entries = bytes.number(1, k_most_entries, "the number of entries");
    for (int32_t i = 0; i < entries; ++i) {
        const std::string name = bytes.text(bytes.number(1, k_most_name_bytes, "the length of a name"), "a name");
        const int32_t calls = bytes.number(0, k_most, "a number of calls");
        const auto count = static_cast<size_t>(bytes.number(1, k_most, "a number of values"));
        const auto stored = bytes.take(count * sizeof(float), "values");
        std::vector<float> values(count);
        std::memcpy(values.data(), stored.data(), stored.size());
        if (calls > 0) {
            for (float& value : values) value /= static_cast<float>(calls);
        }
        add(m, name, std::move(values));
    }
    if (bytes.is_at_end()) return m;
    m.chunks = bytes.number(0, k_most, "the number of chunks");
    if (bytes.is_at_end()) return m;
    const int32_t length = bytes.number(0, k_most, "the length of the data set's name");
    if (length > 0) m.datasets.push_back(bytes.text(length, "the data set's name"));
    return m;
}

}  // namespace

ImportanceMatrix read_imatrix(const std::filesystem::path& path) {
    const auto file = MappedFile::open(path);
    const auto bytes = file->bytes();
    ImportanceMatrix m =
        bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0 ? from_gguf(path) : from_legacy(*file);
    if (m.weights.empty()) bad_input("{}: holds no importance of any weight", m.origin);
    return m;
}

void write_imatrix(const std::filesystem::path& path, const std::map<std::string, ImportanceSums, std::less<>>& weights,
                   const std::string& dataset, int64_t chunks, int64_t chunk_size) {
    GgufWriter writer;
    writer.set("general.type", std::string("imatrix"));
    writer.set("imatrix.datasets", Array(std::vector<std::string>{dataset}));
    writer.set("imatrix.chunk_count", static_cast<uint32_t>(chunks));
    writer.set("imatrix.chunk_size", static_cast<uint32_t>(chunk_size));
    for (const auto& [name, entry] : weights) {
        const auto experts = static_cast<int64_t>(entry.counts.size());
        const std::vector<float> sums(entry.sums.begin(), entry.sums.end());
        const std::vector<float> counts(entry.counts.begin(), entry.counts.end());
        const int64_t columns = static_cast<int64_t>(sums.size()) / experts;
        writer.add_f32(name + std::string(k_sums), DType::F32, {columns, experts}, sums);
        writer.add_f32(name + std::string(k_counts), DType::F32, {1, experts}, counts);
    }
    writer.write(path);
}

}  // namespace toy
