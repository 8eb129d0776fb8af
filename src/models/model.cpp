#include "models/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "models/family.h"

namespace toy {
namespace {

std::vector<int64_t> row_major(const GgufTensor& tensor) {
    std::vector<int64_t> shape(tensor.ne.begin(), tensor.ne.begin() + tensor.rank);
    std::reverse(shape.begin(), shape.end());
    return shape;
}

Tensor load_weight(const WeightEntry& entry, Model& model) {
    const std::string& origin = model.file.metadata().origin();
    const GgufTensor* tensor = model.file.find(entry.name);
    if (tensor == nullptr) bad_input("{}: there is no tensor '{}'", origin, entry.name);
    if (row_major(*tensor) != entry.shape) {
        bad_input("{}: tensor '{}' has the shape [{}], expected [{}]", origin, entry.name,
                  fmt::join(row_major(*tensor), ", "), fmt::join(entry.shape, ", "));
    }
    const bool is_vector = entry.shape.size() == 1;
    if (is_vector ? tensor->type != DType::F32 : !converts_to_f32(tensor->type)) {
        bad_input("{}: tensor '{}' has the type {}, which {} cannot have", origin, entry.name, name(tensor->type),
                  is_vector ? "a vector" : "a weight");
    }
    const Layout layout = packed_ne(tensor->type, tensor->rank, tensor->ne);
    return model.params.map(entry.name, layout, model.file.parts()[tensor->part], tensor->offset);
}

// A tensor that nothing reads would be a part of the model that we leave out.
void refuse_unused(const Model& model, const std::set<std::string_view>& used) {
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
    std::set<std::string_view> used;
    const std::vector<WeightEntry> table = weight_table(model->decoder);
    for (const WeightEntry& entry : table) {
        *entry.slot = load_weight(entry, *model);
        used.insert(entry.name);
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
