#include "engine/importance.h"

#include <cmath>

#include "core/error.h"
#include "io/quote.h"
#include "tensor/params.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

void add_squares(std::span<const float> row, double* sums) {
    for (size_t i = 0; i < row.size(); ++i) sums[i] += static_cast<double>(row[i]) * row[i];
}

}  // namespace

ImportanceCollector::ImportanceCollector(std::shared_ptr<const Model> model, Runner& runner, int64_t chunk_size,
                                         bool with_head)
    : model_(std::move(model)),
      runner_(runner),
      context_(graph_, 1, chunk_size, {AttentionForm::fused, model_->spec().is_long(chunk_size)}) {
    ids_ = graph_.input("ids", DType::I32, {chunk_size});
    Tensor result = hidden(model_->decoder, ids_, context_);
    if (with_head && model_->spec().has_head) result = logits(model_->decoder, result);
    graph_.output(result);
    graph_.allocate(runner.device());
    context_.write_inputs();
    add_taps();
}

void ImportanceCollector::add_taps() {
    const std::deque<Node>& nodes = graph_.nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
        const Node& node = nodes[i];
        if (node.kind != Node::Kind::operation) continue;
        const bool is_choice = node.op->name() == "matmul_id";
        if (!is_choice && node.op->name() != "matmul") continue;
        const Parameter* weight = nodes[static_cast<size_t>(node.sources[0])].parameter;
        if (weight == nullptr) continue;  // queries times keys
        ImportanceSums& entry = weights_[weight->name];
        entry.sums.resize(static_cast<size_t>(weight->layout.ne[0] * weight->layout.ne[2]));
        entry.counts.resize(is_choice ? static_cast<size_t>(weight->layout.ne[2]) : 1);
        // The inputs are still there when the product has been computed.
        taps_.push_back({Tensor(&graph_, static_cast<int32_t>(i)), [this, &node, &entry, is_choice](Tensor) {
                             is_choice ? see_choice(node, entry) : see_product(node, entry);
                         }});
    }
}

// x [H, T, K] of a stack of matrices [H, N, K], one after the other; or [T, K].
void ImportanceCollector::see_product(const Node& product, ImportanceSums& entry) {
    const Tensor x(&graph_, product.sources[1]);
    const Layout& layout = x.layout();
    const std::vector<float> values = read_f32(x);
    const auto columns = static_cast<size_t>(layout.ne[0]);
    const size_t matrices = entry.sums.size() / columns, rows = values.size() / columns;
    for (size_t row = 0; row < rows; ++row) {
        const size_t matrix = row / static_cast<size_t>(layout.ne[1]) % matrices;
        add_squares(std::span(values).subspan(row * columns, columns), entry.sums.data() + matrix * columns);
    }
    entry.counts.front() += static_cast<int64_t>(rows / matrices);
}

// x [T, 1 or U, K], ids [T, U]
void ImportanceCollector::see_choice(const Node& product, ImportanceSums& entry) {
    const Tensor x(&graph_, product.sources[1]), ids(&graph_, product.sources[2]);
    const std::vector<float> values = read_f32(x);
    const std::vector<int32_t> chosen = read_i32(ids);
    const auto columns = static_cast<size_t>(x.layout().ne[0]), each = static_cast<size_t>(x.layout().ne[1]);
    const auto used = static_cast<size_t>(ids.layout().ne[0]);
    for (size_t i = 0; i < chosen.size(); ++i) {
        const auto expert = static_cast<size_t>(chosen[i]);
        const size_t row = i / used * each + i % used % each;
        add_squares(std::span(values).subspan(row * columns, columns), entry.sums.data() + expert * columns);
        ++entry.counts[expert];
    }
}

void ImportanceCollector::add(std::span<const int32_t> ids) {
    write(ids_, ids);
    runner_.run(graph_, taps_);
    for (const auto& [name, entry] : weights_) {
        for (const double sum : entry.sums) {
            if (!std::isfinite(static_cast<float>(sum))) {
                failure("the inputs of {} are no finite numbers: the model or its type is broken", quote(name));
            }
        }
    }
}

}  // namespace toy
