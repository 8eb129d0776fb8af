#include "models/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "models/assemble.h"
#include "models/family.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

std::vector<int64_t> row_major(const GgufTensor& tensor) {
    std::vector<int64_t> shape(tensor.ne.begin(), tensor.ne.begin() + tensor.rank);
    std::reverse(shape.begin(), shape.end());
    return shape;
}

void check_type(const WeightEntry& entry, DType type, const std::string& origin) {
    const bool is_raw = entry.use == WeightEntry::Use::raw;
    if (is_raw ? type != DType::F32 : !converts_to_f32(type)) {
        bad_input("{}: tensor '{}' has the type {}, which {} cannot have", origin, entry.name, name(type),
                  entry.shape.size() == 1 ? "a vector"
                  : is_raw                ? "a factor"
                                          : "a weight");
    }
}

// Which tensors of the file a weight was made of joins `used`.
Tensor load_weight(const WeightEntry& entry, Model& model, std::set<std::string>& used) {
    const std::string& origin = model.file.metadata().origin();
    const GgufTensor* tensor = model.file.find(entry.name);
    if (tensor == nullptr) {
        const std::optional<Assembled> parts = assemble(entry, model.file, model.spec());
        if (!parts) bad_input("{}: there is no tensor '{}'", origin, entry.name);
        used.insert(parts->sources.begin(), parts->sources.end());
        const Tensor weight = model.params.add(entry.name, parts->layout);
        model.params.allocate();
        write(weight, std::span<const std::byte>(parts->bytes));
        return weight;
    }
    used.insert(entry.name);
    if (row_major(*tensor) != entry.shape) {
        bad_input("{}: tensor '{}' has the shape [{}], expected [{}]", origin, entry.name,
                  fmt::join(row_major(*tensor), ", "), fmt::join(entry.shape, ", "));
    }
    check_type(entry, tensor->type, origin);
    const Layout layout = packed_ne(tensor->type, tensor->rank, tensor->ne);
    return model.params.map(entry.name, layout, model.file.parts()[tensor->part], tensor->offset);
}

// A tensor that nothing reads would be a part of the model that we leave out.
void refuse_unused(const Model& model, const std::set<std::string>& used) {
    for (const GgufTensor& tensor : model.file.tensors()) {
        if (!used.contains(tensor.name)) {
            bad_input("{}: tensor '{}' has no place in architecture {}", model.file.metadata().origin(), tensor.name,
                      model.spec().architecture);
        }
    }
}

}  // namespace

std::shared_ptr<const Model> Model::load(const std::filesystem::path& path, const Device& device) {
    auto model = std::make_shared<Model>(Gguf::open(path), device);
    model->decoder = make_decoder(read_spec(model->file));
    std::set<std::string> used;
    for (const WeightEntry& entry : weight_table(model->decoder)) {
        *entry.slot = load_weight(entry, *model, used);
        if (entry.use == WeightEntry::Use::matrix) model->matrices.push_back(*entry.slot);
    }
    refuse_unused(*model, used);
    share_weights(model->decoder);
    return model;
}

int64_t Model::parameter_count() const {
    int64_t count = 0;
    for (const Parameter& parameter : params.all()) count += parameter.layout.elements();
    return count;
}

size_t Model::weight_bytes() const {
    size_t bytes = 0;
    for (const Parameter& parameter : params.all()) bytes += parameter.layout.bytes();
    return bytes;
}

}  // namespace toy
