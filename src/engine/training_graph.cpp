#include "engine/training_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "tensor/backward.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

constexpr int64_t k_most_logits = 4 << 20;  // at a time: 16 MiB

}  // namespace

TrainingGraph::TrainingGraph(const Decoder& m, std::span<const Trained> trained, const TrainingShape& shape,
                             const Device& device)
    : shape_(shape),
      vocabulary_(m.spec.vocabulary),
      context_(graph_, shape.rows, shape.tokens, {shape.form, m.spec.is_long(shape.tokens), shape.has_documents}) {
    const int64_t count = shape.rows * shape.tokens;
    graph_.set_kernels(shape.has_kernels);
    ids_ = graph_.input("ids", DType::I32, {count});
    targets_ = graph_.input("targets", DType::I32, {count});
    scale_ = graph_.input("scale", DType::F32, {count});
    const Tensor x = hidden(m, ids_, context_);  // [B·T, D]
    Backward backward(graph_);
    for (const Trained& t : trained) backward.want(t.weight, t.gradient);
    if (shape.is_recomputing) recompute_blocks(backward, m.spec.layers);
    compute_losses(m, x, backward);
    backward.run();
    graph_.allocate(device);
}

// Some rows at a time: their logits, losses, and at once what these give back to x and the head.
void TrainingGraph::compute_losses(const Decoder& m, Tensor x, Backward& backward) {
    const int64_t rows = std::clamp<int64_t>(k_most_logits / vocabulary_, 1, x.dim(0));
    for (int64_t first = 0; first < x.dim(0); first += rows) {
        const int64_t count = std::min(rows, x.dim(0) - first);
        const auto begin = static_cast<int32_t>(graph_.nodes().size());
        const Tensor z = logits(m, slice(x, 0, first, count));                  // [count, V]
        losses_.push_back(cross_entropy(z, slice(targets_, 0, first, count)));  // [count]
        graph_.output(losses_.back());
        backward.seed(losses_.back(), slice(scale_, 0, first, count));
        backward.run(begin);
    }
}

// The records of each block are those whose scope begins with its name.
void TrainingGraph::recompute_blocks(Backward& backward, int64_t layers) const {
    int32_t next = 0;
    const auto count = static_cast<int32_t>(graph_.nodes().size());
    for (int64_t layer = 0; layer < layers; ++layer) {
        const std::string name = fmt::format("blk.{}", layer);
        const auto is_inside = [&](int32_t i) {
            const std::string& scope = graph_.nodes()[static_cast<size_t>(i)].scope;
            return scope == name || scope.starts_with(name + "/");
        };
        while (next < count && !is_inside(next)) ++next;
        const int32_t first = next;
        while (next < count && (is_inside(next) || graph_.nodes()[static_cast<size_t>(next)].op == nullptr)) ++next;
        backward.recompute(first, next);
    }
}

namespace {

// Positions, what follows a row's last target counted on: padding begins no document.
std::vector<int32_t> positions_of(const Batch& batch) {
    std::vector<int32_t> positions = batch.positions;
    const auto length = static_cast<size_t>(batch.length);
    for (size_t row = 0; row < positions.size(); row += length) {
        size_t end = row + length;
        while (end > row && batch.targets[end - 1] < 0) --end;
        for (size_t i = std::max(end, row + 1); i < row + length; ++i) positions[i] = positions[i - 1] + 1;
    }
    return positions;
}

}  // namespace

void TrainingGraph::write(const Batch& batch, float scale) {
    const auto count = static_cast<size_t>(shape_.rows * shape_.tokens);
    if (batch.rows != shape_.rows || batch.length != shape_.tokens || batch.ids.size() != count ||
        batch.targets.size() != count || batch.positions.size() != count) {
        failure("a batch of {} rows of {} tokens for a graph of {} of {}", batch.rows, batch.length, shape_.rows,
                shape_.tokens);
    }
    for (int32_t target : batch.targets) {
        if (target >= vocabulary_) bad_input("target {} is not in the vocabulary of {}", target, vocabulary_);
    }
    toy::write(ids_, batch.ids);
    toy::write(targets_, batch.targets);
    toy::write(scale_, std::vector<float>(count, scale));
    context_.write_documents(positions_of(batch));
}

std::vector<float> TrainingGraph::losses() const {
    std::vector<float> all;
    for (const Tensor& part : losses_) {
        const std::vector<float> values = read_f32(part);
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

}  // namespace toy
