#pragma once
#include <initializer_list>
#include <memory>
#include <utility>

#include "core/error.h"
#include "tensor/graph.h"

// What the operator files share: how an operator gets onto the tape, and the checks that many shape rules make.

namespace toy {

/// Appends `op` to the graph that its operands belong to.
template <class O>
Tensor record(O op, std::initializer_list<Tensor> sources, std::source_location where) {
    for (const Tensor& source : sources) {
        if (source.graph() != nullptr)
            return source.graph()->append(std::make_unique<O>(std::move(op)), sources, where);
    }
    failure("{}: no operand belongs to a graph; make one with Graph::leaf", op.name());
}

inline bool absent(const Layout& layout) { return layout.rank == 0; }

inline void require_type(const Layout& layout, DType type, const char* operand) {
    if (layout.type != type) bad_input("{} must be {}, not {}", operand, name(type), layout.describe());
}

inline void require_packed_rows(const Layout& layout, const char* operand) {
    if (!layout.has_packed_rows()) {
        bad_input("{} of shape {} has elements that are not next to each other in memory; make it contiguous", operand,
                  describe_shape(layout));
    }
}

inline void require_packed(const Layout& layout, const char* operand) {
    if (!layout.is_contiguous()) {
        bad_input("{} of shape {} is a view with holes or permuted axes; make it contiguous", operand,
                  describe_shape(layout));
    }
}

/// What is written must not be written twice, or the result depends on the order.
inline void require_apart(const Layout& layout, const char* operand) {
    if (layout.overlaps_itself()) {
        bad_input("{} of shape {} is a view that overlaps itself", operand, describe_shape(layout));
    }
}

/// Rows at one distance over all slower axes, so that a loop over their number reaches them.
inline void require_even_rows(const Layout& layout, const char* operand) {
    require_packed_rows(layout, operand);
    if (!layout.is_contiguous_beyond_rows()) {
        bad_input("{} of shape {} has rows at uneven distances; make it contiguous", operand, describe_shape(layout));
    }
}

/// Whether `small` repeated along each axis gives `big` (ggml_can_repeat).
inline bool repeats_into(const Layout& small, const Layout& big) {
    for (size_t i = 0; i < 4; ++i) {
        if (big.ne[i] % small.ne[i] != 0) return false;
    }
    return true;
}

}  // namespace toy
