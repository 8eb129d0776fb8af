#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/device.h"
#include "tensor/layout.h"

struct ggml_context;
struct ggml_tensor;

namespace toy {

class Pullback;
class RepackedWeights;

/// What an operator may use while it becomes ggml nodes.
struct Lowering {
    ggml_context* context;
    Device device;
    const RepackedWeights* repacked;  ///< faster copies of weights for matmul, or null
    bool has_kernels;                 ///< kernels of ours instead of ggml's, where an operator has both (Graph)
};

/// One operator: a small struct whose members are its attributes. It is recorded on the tape of a Graph; ggml nodes are
/// its lowering, and its gradient is written in operators.
struct Op {
    virtual ~Op() = default;

    /// As it appears in errors, taps and listings: "rms_norm".
    virtual std::string_view name() const = 0;

    /// The shape rule: the result's layout, or Error where the operands do not fit. Present operands have elements. At
    /// least as strict as the assertions of the ggml function in `lower`, because those end the process.
    virtual Layout infer(std::span<const Layout> in) const = 0;

    /// Makes the ggml nodes, at most `lowered_nodes` of them, and returns the last.
    virtual ggml_tensor* lower(const Lowering& lowering, std::span<ggml_tensor* const> in) const = 0;
    virtual int lowered_nodes() const { return 1; }

    /// The vector-Jacobian rule: from the gradient of the result, gives those of the operands that want one (see
    /// Pullback). An operator without a rule refuses by name.
    virtual void pull_back(const Pullback& p) const;
    /// Whether the result depends smoothly on this operand: not on masks, tables of factors, shapes. (Integers never
    /// count.)
    virtual bool is_smooth(int source) const {
        (void)source;
        return true;
    }

    /// Whether this operand may be absent.
    virtual bool takes_absent(int source) const {
        (void)source;
        return false;
    }

    /// Which source the result shares its memory with (views, and operators that write in place), or -1.
    virtual int aliases() const { return -1; }
    /// Whether a source is written in place.
    virtual bool writes(int source) const {
        (void)source;
        return false;
    }

    /// Which source holds row or expert indices, and how many rows there are to choose from; {-1, 0} where none does.
    /// ggml ends the process at an index outside, so indices that come from the host are checked against it when they
    /// are written, and those that operators make must lie below it by construction.
    struct IndexUse {
        int source;
        int64_t limit;
    };
    virtual IndexUse indices(std::span<const Layout> in) const {
        (void)in;
        return {-1, 0};
    }
    /// Of integer results: a number that all of them lie below, or 0 where the operator's author answers for them, or
    /// nothing where they are values of the integer operands.
    virtual std::optional<int64_t> index_bound(std::span<const Layout> in) const {
        (void)in;
        return std::nullopt;
    }
};

}  // namespace toy
