#include "engine/training_state.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

constexpr const char* k_architecture = "toy-training-state";
constexpr const char* k_steps_key = "toy.training.steps";
constexpr size_t k_piece_bytes = size_t{1} << 24;

/// By name, in the order in which they are written.
std::vector<std::pair<std::string, Tensor>> tensors_of(const TrainableModel& model, const Optimizer& optimizer) {
    std::vector<std::pair<std::string, Tensor>> all;
    for (const TrainableModel::Entry& entry : model.entries()) all.emplace_back(entry.name, entry.tensors.weight);
    for (const Tensor& moment : optimizer.moments()) all.emplace_back(moment.name(), moment);
    return all;
}

GgufWriter::Source source_of(Tensor tensor) {
    return [tensor](const std::function<void(std::span<const std::byte>)>& write) {
        const size_t size = tensor.layout().bytes();
        std::vector<std::byte> piece(std::min(size, k_piece_bytes));
        for (size_t done = 0; done < size; done += piece.size()) {
            piece.resize(std::min(piece.size(), size - done));
            read(tensor, piece, done);
            write(piece);
        }
    };
}

std::string shape_of(const std::array<int64_t, 4>& ne) {
    Layout layout;
    layout.rank = 4;
    layout.ne = ne;
    return describe_shape(layout);
}

}  // namespace

void save_training_state(const std::filesystem::path& path, const TrainableModel& model, const Optimizer& optimizer) {
    GgufWriter writer;
    writer.set("general.architecture", std::string(k_architecture));
    writer.set(k_steps_key, static_cast<uint64_t>(optimizer.steps()));
    for (const auto& [name, tensor] : tensors_of(model, optimizer)) {
        const Layout& layout = tensor.layout();
        writer.add(name, DType::F32, {layout.ne.begin(), layout.ne.begin() + std::max(layout.rank, 1)},
                   source_of(tensor));
    }
    writer.write(path);
}

void load_training_state(const std::filesystem::path& path, TrainableModel& model, Optimizer& optimizer) {
    const Gguf file = Gguf::open(path);
    const std::string& origin = file.metadata().origin();
    const std::string* architecture = file.metadata().find_string("general.architecture");
    if (architecture == nullptr || *architecture != k_architecture)
        bad_input("{}: this is no state of a training", origin);
    const int64_t steps = file.metadata().integer(k_steps_key);
    if (steps < 0) bad_input("{}: key '{}' is {}", origin, k_steps_key, steps);
    const auto tensors = tensors_of(model, optimizer);
    for (const auto& [name, tensor] : tensors) {
        const GgufTensor* stored = file.find(name);
        if (stored == nullptr) bad_input("{}: there is no tensor '{}'", origin, name);
        if (stored->type != DType::F32 || stored->ne != tensor.layout().ne) {
            bad_input("{}: tensor '{}' has the shape {}, expected {}", origin, name, shape_of(stored->ne),
                      shape_of(tensor.layout().ne));
        }
    }
    if (file.tensors().size() != tensors.size())
        bad_input("{}: there are {} tensors, expected {}", origin, file.tensors().size(), tensors.size());
    for (const auto& [name, tensor] : tensors) write(tensor, file.find(name)->bytes);
    optimizer.set_steps(steps);
}

}  // namespace toy
