// Mamba and Mamba-2, FalconMamba.
//
// What is unusual about it: no attention, no feed-forward and no positions. A block is a norm and a state-space mixer,
// a short convolution and a recurrence (arXiv 2312.00752, 2405.21060); what it remembers of a text has a fixed size.

#include "core/error.h"
#include "models/family.h"

namespace toy {
namespace {

Spec read_common_part(const SpecKeys& keys, int version) {
    Spec s = read_sizes(keys);
    read_norm(keys, Norm::Kind::rms, s);
    StateSpaceSpec& n = s.state_space;
    n.version = version;
    n.inner = keys.size("ssm.inner_size");
    n.state = keys.size("ssm.state_size");
    n.kernel = keys.size("ssm.conv_kernel");
    if (n.kernel < 2)
        bad_input("{}: {} is {}, but must be at least 2", keys.origin(), keys.full("ssm.conv_kernel"), n.kernel);
    return s;
}

Spec read(const SpecKeys& keys) {
    Spec s = read_common_part(keys, 1);
    s.state_space.heads = s.state_space.inner;
    s.state_space.dt_rank = keys.size("ssm.time_step_rank");
    s.state_space.has_weightless_norms = keys.flag_or("ssm.dt_b_c_rms", false);
    return s;
}

Spec read_2(const SpecKeys& keys) {
    Spec s = read_common_part(keys, 2);
    StateSpaceSpec& n = s.state_space;
    n.heads = keys.size("ssm.time_step_rank");
    n.groups = keys.size("ssm.group_count");
    if (n.inner % n.heads != 0 || n.inner % n.groups != 0 || n.heads % n.groups != 0) {
        bad_input("{}: {} = {} must be a multiple of {} = {}, and that of {} = {}", keys.origin(),
                  keys.full("ssm.inner_size"), n.inner, keys.full("ssm.time_step_rank"), n.heads,
                  keys.full("ssm.group_count"), n.groups);
    }
    return s;
}

}  // namespace

extern const Family k_mamba, k_mamba2;
const Family k_mamba{"mamba", "Mamba, FalconMamba", read};
const Family k_mamba2{"mamba2", "Mamba-2, Mamba-Codestral", read_2};

}  // namespace toy
