#include "tensor/backward.h"

#include <algorithm>

#include "core/error.h"
#include "tensor/gradient_ops.h"
#include "tensor/ops.h"

namespace toy {
namespace {

bool is_integer(DType type) {
    return type == DType::I32 || type == DType::I64 || type == DType::I16 || type == DType::I8;
}

}  // namespace

void Op::pull_back(const Pullback&) const { bad_input("{} has no gradient", name()); }

void Backward::want(Tensor of) { is_wanted_[graph_.import(of)] = true; }

void Backward::want(Tensor of, Tensor sum) {
    if (sum.dtype() != DType::F32 || !sum.layout().same_shape(of.layout())) {
        failure("the gradient of {} cannot be added into {}", of.layout().describe(), sum.layout().describe());
    }
    want(of);
    sums_[graph_.import(of)] = graph_.leaf(sum);
}

void Backward::seed(Tensor y, Tensor dy) { add(graph_.import(y), {dy, {}, 0}); }

// Whether something wanted lies behind a node. Nodes are asked about after they and their operands are all there.
bool Backward::is_needed(int32_t node) {
    for (auto i = static_cast<int32_t>(is_needed_.size()); i < static_cast<int32_t>(graph_.nodes().size()); ++i) {
        const Node& n = graph_.nodes()[static_cast<size_t>(i)];
        bool needed = is_wanted_.contains(i);
        for (size_t k = 0; k < n.sources.size(); ++k) {
            const int32_t source = n.sources[k];
            if (source < 0 || !is_needed_[static_cast<size_t>(source)]) continue;
            needed = needed || (n.op->is_smooth(static_cast<int>(k)) && !is_integer(n.layout.type));
        }
        is_needed_.push_back(needed);
    }
    return is_needed_[static_cast<size_t>(node)];
}

void Backward::add(int32_t node, Part part) { waiting_[node].push_back(part); }

namespace {

// Slices side by side or apart, ascending, along one axis of `length`, as one tensor. More than can be joined at once
// are joined in groups first.
Tensor joined(std::vector<Backward::Part> slices, size_t axis, int64_t length) {
    while (true) {
        std::vector<Backward::Part> groups;
        const bool is_last = slices.size() <= k_most_joined;
        for (size_t i = 0; i < slices.size(); i += k_most_joined) {
            const size_t end = std::min(slices.size(), i + k_most_joined);
            const int64_t origin = is_last ? 0 : slices[i].start;
            std::vector<Tensor> tensors;
            std::vector<int64_t> starts;
            int64_t covered = 0;
            for (size_t k = i; k < end; ++k) {
                tensors.push_back(contiguous(slices[k].tensor));
                starts.push_back(slices[k].start - origin);
                covered = starts.back() + tensors.back().layout().ne[axis];
            }
            groups.push_back({join(tensors, axis, starts, is_last ? length : covered), axis, origin});
        }
        if (is_last) return groups.front().tensor;
        slices = std::move(groups);
    }
}

}  // namespace

// The sum of all parts. Slices that lie side by side are joined, which costs less than padding each with zeros.
Tensor Backward::total(const Layout& like, std::vector<Part> parts) {
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
        return std::pair(a.axis.value_or(4), a.start) < std::pair(b.axis.value_or(4), b.start);
    });
    Tensor sum;
    for (size_t i = 0; i < parts.size();) {
        const std::optional<size_t> axis = parts[i].axis;
        Tensor piece = parts[i].tensor;
        size_t end = i + 1;
        if (axis) {
            const auto follows = [&](const Part& before, const Part& part) {
                return part.axis == axis && part.start >= before.start + before.tensor.layout().ne[*axis];
            };
            while (end < parts.size() && follows(parts[end - 1], parts[end])) ++end;
            piece = joined({parts.begin() + static_cast<int64_t>(i), parts.begin() + static_cast<int64_t>(end)}, *axis,
                           like.ne[*axis]);
        }
        i = end;
        // A view with permuted axes does as a single part, but not as a term.
        sum = sum ? contiguous(sum) + contiguous(piece) : piece;
    }
    return sum;
}

void Backward::run(int32_t down_to) {
    while (!waiting_.empty() && waiting_.rbegin()->first >= down_to) {
        const int32_t number = waiting_.rbegin()->first;
        const std::vector<Part> parts = std::move(waiting_.rbegin()->second);
        waiting_.erase(number);
        if (!is_needed(number)) continue;
        const Node& node = graph_.nodes()[static_cast<size_t>(number)];  // stays in place as the tape grows
        graph_.scope_ = node.scope;
        const Tensor dy = total(node.layout, parts);
        if (is_wanted_.contains(number)) results_[number] = dy;
        if (node.kind == Node::Kind::operation) node.op->pull_back(Pullback(*this, number, dy));
        graph_.scope_.clear();
    }
}

Tensor Backward::gradient(Tensor of) {
    const auto found = results_.find(graph_.import(of));
    return found == results_.end() ? Tensor() : found->second;
}

void Backward::recompute(int32_t first, int32_t last) {
    Segment segment{first, last, std::vector<bool>(static_cast<size_t>(last - first))};
    for (size_t i = static_cast<size_t>(last); i < graph_.nodes().size(); ++i) {
        for (int32_t source : graph_.nodes()[i].sources) {
            if (source >= first && source < last) segment.is_kept[static_cast<size_t>(source - first)] = true;
        }
    }
    segments_.push_back(std::move(segment));
}

// The node that holds a value of the forward pass while gradients are computed.
Tensor Backward::live(int32_t number) {
    const Tensor kept(&graph_, number);
    const Node& node = graph_.nodes()[static_cast<size_t>(number)];
    if (node.kind != Node::Kind::operation) return kept;
    const auto holds = [&](const Segment& s) { return number >= s.first && number < s.last; };
    const auto segment = std::find_if(segments_.begin(), segments_.end(), holds);
    if (segment == segments_.end() || segment->is_kept[static_cast<size_t>(number - segment->first)]) return kept;
    if (const auto found = again_.find(number); found != again_.end()) return found->second;
    std::vector<Tensor> sources;
    for (int32_t source : node.sources) sources.push_back(source < 0 ? Tensor() : live(source));
    const Tensor copy = graph_.append(node.op, sources, node.where);
    again_.emplace(number, copy);
    return copy;
}

int32_t Pullback::number(int source) const {
    return backward_.graph_.nodes()[static_cast<size_t>(node_)].sources[static_cast<size_t>(source)];
}

Tensor Pullback::in(int source) const {
    const int32_t node = number(source);
    return node < 0 ? Tensor() : backward_.live(node);
}

Tensor Pullback::y() const { return backward_.live(node_); }

bool Pullback::wants(int source) const {
    const int32_t node = number(source);
    const Node& self = backward_.graph_.nodes()[static_cast<size_t>(node_)];
    return node >= 0 && self.op->is_smooth(source) && backward_.is_needed(node);
}

Tensor Pullback::sum_of(int source) const {
    const auto found = backward_.sums_.find(number(source));
    return found == backward_.sums_.end() ? Tensor() : found->second;
}

void Pullback::give(int source, Tensor gradient) const {
    if (!wants(source)) return;
    const Layout& like = backward_.graph_.nodes()[static_cast<size_t>(number(source))].layout;
    if (!gradient.layout().same_shape(like)) {
        failure("the rule of {} gives {} as the gradient of {}",
                backward_.graph_.nodes()[static_cast<size_t>(node_)].op->name(), gradient.layout().describe(),
                like.describe());
    }
    if (const Tensor sum = sum_of(source)) {
        add_into(sum, contiguous(gradient));
    } else {
        backward_.add(number(source), {gradient, {}, 0});
    }
}

void Pullback::give_repeated(int source, Tensor gradient) const {
    if (!wants(source)) return;
    const Layout& like = backward_.graph_.nodes()[static_cast<size_t>(number(source))].layout;
    if (gradient.layout().same_shape(like)) return give(source, gradient);
    if (const Tensor sum = sum_of(source)) {
        add_into(sum, contiguous(gradient));
    } else {
        backward_.add(number(source), {sum_to(contiguous(gradient), packed_like(like, DType::F32)), {}, 0});
    }
}

void Pullback::give_slice(int source, Tensor gradient, size_t axis, int64_t start) const {
    if (!wants(source)) return;
    const Layout& like = backward_.graph_.nodes()[static_cast<size_t>(number(source))].layout;
    if (sum_of(source)) return give(source, join({contiguous(gradient)}, axis, {start}, like.ne[axis]));
    backward_.add(number(source), {gradient, axis, start});
}

void Pullback::give_product(int source, Tensor a, bool a_turned, Tensor b, bool b_turned) const {
    if (!wants(source)) return;
    if (const Tensor sum = sum_of(source)) {
        gemm_into(sum, a, a_turned, b, b_turned);
    } else {
        backward_.add(number(source), {gemm(a, a_turned, b, b_turned), {}, 0});
    }
}

void Pullback::give_rows(int source, Tensor gradient, Tensor ids) const {
    if (!wants(source)) return;
    const Layout& like = backward_.graph_.nodes()[static_cast<size_t>(number(source))].layout;
    if (const Tensor sum = sum_of(source)) {
        add_rows_into(sum, contiguous(gradient), ids);
    } else {
        backward_.add(number(source), {add_rows(contiguous(gradient), ids, packed_like(like, DType::F32)), {}, 0});
    }
}

}  // namespace toy
