#include "engine/quantize_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>

#include "core/error.h"
#include "io/quote.h"

namespace toy {
namespace {

using enum DType;

/// File types, under llama.cpp's numbers, that the rules below tell apart.
enum class Mix : int64_t {
    q4_0 = 2,
    q5_0 = 8,
    q2_k = 10,
    q3_k_s = 11,
    q3_k_m = 12,
    q3_k_l = 13,
    q4_k_s = 14,
    q4_k_m = 15,
    q5_k_m = 17,
    iq2_xxs = 19,
    iq2_xs = 20,
    q2_k_s = 21,
    iq3_xs = 22,
    iq3_xxs = 23,
    iq1_s = 24,
    iq4_nl = 25,
    iq3_s = 26,
    iq3_m = 27,
    iq2_s = 28,
    iq2_m = 29,
    iq4_xs = 30,
    iq1_m = 31,
    tq1_0 = 36,
    tq2_0 = 37,
    mxfp4_moe = 38,
    q2_0 = 41,
};

/// What a tensor is for.
enum class Part { embedding, head, query, key, value, joint_qkv, joint_kv, attn_output, up, gate, down, other };

bool has(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

Part part_of(std::string_view name) {
    if (name == "output.weight") return Part::head;
    if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") return Part::embedding;
    constexpr std::pair<std::string_view, Part> k_parts[] = {
        {"attn_qkv.weight", Part::joint_qkv},
        {"attn_kv_b.weight", Part::joint_kv},
        {"attn_v.weight", Part::value},
        {"attn_k.weight", Part::key},
        {"attn_q.weight", Part::query},
        {"attn_output.weight", Part::attn_output},
        {"ffn_up", Part::up},
        {"ffn_gate", Part::gate},
        {"ffn_down", Part::down},
    };
    for (const auto& [words, part] : k_parts) {
        if (has(name, words)) return part;
    }
    return Part::other;
}

bool holds_values(Part part) { return part == Part::value || part == Part::joint_qkv || part == Part::joint_kv; }

// Small or delicate matrices: routers, convolutions, position tables, parts of architectures that toy does not run.
constexpr std::string_view k_kept[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
};

bool is_quantizable(const GgufTensor& tensor) {
    const std::string_view name = tensor.name;
    const bool is_vector = tensor.ne[1] == 1 && tensor.ne[2] == 1 && tensor.ne[3] == 1;
    if (is_vector || !name.ends_with("weight")) return false;
    if (name == "position_embd.weight" || name == "token_types.weight") return false;
    return std::none_of(std::begin(k_kept), std::end(k_kept), [&](std::string_view part) { return has(name, part); });
}

/// "blk.12.ffn_up.weight" -> 12; nothing for tensors outside blocks.
std::optional<int64_t> block_of(std::string_view name) {
    constexpr std::string_view k_prefix = "blk.";
    if (!name.starts_with(k_prefix)) return std::nullopt;
    int32_t number = 0;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + k_prefix.size(), end, number);
    return error == std::errc() ? std::optional<int64_t>(number) : std::nullopt;
}

/// The number of that key, or of the first layer where there is one for each.
int64_t first_number(const Metadata& metadata, const std::string& key, int64_t fallback) {
    const Value* value = metadata.find(key);
    if (value == nullptr) return fallback;
    if (!std::holds_alternative<Array>(*value)) return metadata.integer(key);
    const std::vector<int64_t> each = metadata.find_integers(key).value_or(std::vector<int64_t>());
    return each.empty() ? fallback : each.front();
}

/// What decides besides a tensor's name.
struct Facts {
    std::string architecture;
    int64_t layers = 0, experts = 0;
    int64_t shared_heads = 0;  ///< query heads to each key head, in the first layer
    int64_t value_tensors = 0;
    bool is_falcon = false;
    bool is_70b = false;
    bool has_head = false;
};

// Where 8 heads share a value matrix, it is small and deserves more bits. llama.cpp goes by these models' sizes.
bool is_70b(const Facts& facts, int64_t heads, int64_t kv_heads) {
    const std::string& name = facts.architecture;
    if (name == "llama") return facts.layers == 80 && heads != kv_heads;
    if (name == "jais2") return facts.layers == 68;
    return facts.layers == 80 && (name == "qwen2" || name == "deci" || name == "olmo");
}

Facts read_facts(const Gguf& file) {
    const Metadata& metadata = file.metadata();
    Facts facts;
    facts.architecture = metadata.string("general.architecture");
    const auto key = [&](std::string_view name) { return fmt::format("{}.{}", facts.architecture, name); };
    facts.layers = metadata.integer(key("block_count"));
    facts.experts = first_number(metadata, key("expert_count"), 0);
    const int64_t heads = first_number(metadata, key("attention.head_count"), 0);
    const int64_t kv_heads = first_number(metadata, key("attention.head_count_kv"), heads);
    facts.shared_heads = kv_heads <= 0 ? 0 : heads / kv_heads;
    for (const GgufTensor& tensor : file.tensors()) {
        if (holds_values(part_of(tensor.name))) ++facts.value_tensors;
    }
    facts.is_falcon = facts.architecture == "falcon";
    facts.is_70b = is_70b(facts, heads, kv_heads);
    facts.has_head = file.find("output.weight") != nullptr;
    return facts;
}

/// The rules, for one tensor after the other: some go by how many of a part came before.
class Chooser {
 public:
    Chooser(const Facts& facts, const FileType& target, bool has_importance)
        : facts_(facts), mix_(static_cast<Mix>(target.code)), base_(target.type), has_importance_(has_importance) {}

    DType choose(const GgufTensor& tensor) {
        const Part part = part_of(tensor.name);
        if (part == Part::head || (part == Part::embedding && !facts_.has_head)) return head(tensor.ne[0]);
        if (mix_ == Mix::mxfp4_moe) return tensor.ne[2] > 1 ? MXFP4 : Q8_0;
        if (part == Part::embedding) return embedding();
        if (is({Mix::iq2_xxs, Mix::iq2_xs, Mix::iq1_s, Mix::iq2_s, Mix::iq2_m, Mix::iq1_m})) return tiny(part);
        if (holds_values(part)) return value();
        switch (part) {
            case Part::key:
                if (facts_.experts == 8) return Q8_0;
                return query();
            case Part::query: return query();
            case Part::down: return down(layer_of(tensor, downs_++));
            case Part::attn_output: return attn_output();
            case Part::gate: return up_or_gate(layer_of(tensor, gates_++));
            case Part::up: return up_or_gate(layer_of(tensor, ups_++));
            default: return base_;
        }
    }

 private:
    bool is(std::initializer_list<Mix> mixes) const {
        return std::find(mixes.begin(), mixes.end(), mix_) != mixes.end();
    }
    bool shares_heads() const { return facts_.shared_heads >= 4; }

    /// The first and the last eighth, and every third layer between them.
    static bool deserves_more(int64_t i, int64_t n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }

    // In mixtures the tensors' own numbers count, as their order in files varied.
    int64_t layer_of(const GgufTensor& tensor, int64_t counted) const {
        if (facts_.experts < 2) return counted;
        const std::optional<int64_t> block = block_of(tensor.name);
        if (!block || *block < 0 || *block >= facts_.layers) {
            bad_input("tensor {} has no place in {} layers", quote(tensor.name), facts_.layers);
        }
        return *block;
    }

    DType head(int64_t columns) const {
        if (mix_ == Mix::mxfp4_moe || facts_.is_falcon || columns % block_elements(base_) != 0) return Q8_0;
        if (is({Mix::iq2_xxs, Mix::iq2_xs, Mix::iq3_xxs, Mix::iq1_s, Mix::iq2_s, Mix::iq2_m, Mix::iq1_m})) return Q5_K;
        return base_ == Q8_0 ? Q8_0 : Q6_K;
    }

    DType embedding() const {
        if (is({Mix::iq2_xxs, Mix::iq2_xs, Mix::iq1_s, Mix::iq1_m})) return Q2_K;
        if (is({Mix::iq2_s, Mix::iq2_m, Mix::iq3_xxs})) return IQ3_S;
        if (is({Mix::tq1_0, Mix::tq2_0, Mix::q2_0})) return Q4_K;
        return base_;
    }

    // Types of one or two bits.
    DType tiny(Part part) {
        const bool is_larger = is({Mix::iq2_s, Mix::iq2_m});
        const DType better = is_larger ? IQ3_S : Q2_K;
        if (holds_values(part)) {
            ++values_;
            return shares_heads() || facts_.experts >= 4 ? Q4_K : better;
        }
        if (part == Part::key && facts_.experts == 8) return Q4_K;
        if (part == Part::down) return downs_++ < facts_.layers / 8 ? better : base_;
        if (part != Part::attn_output) return base_;
        if (facts_.experts == 8) return Q5_K;
        if (is({Mix::iq1_s, Mix::iq1_m})) return IQ2_XXS;
        return is_larger ? IQ3_S : base_;
    }

    DType value() {
        const int64_t i = values_++;
        if (facts_.experts == 8) return Q8_0;
        const DType type = value(i);
        return facts_.is_70b && (type == Q3_K || type == Q4_K) ? Q5_K : type;
    }
    DType value(int64_t i) const {
        const bool is_late_or_early = deserves_more(i, facts_.value_tensors);
        switch (mix_) {
            case Mix::q2_k: return shares_heads() ? Q4_K : Q3_K;
            case Mix::q2_k_s: return shares_heads() ? Q4_K : base_;
            case Mix::iq3_xxs: return shares_heads() ? Q4_K : has_importance_ ? IQ3_XXS : IQ3_S;
            case Mix::iq3_xs:
            case Mix::iq3_s: return shares_heads() ? Q4_K : base_;
            case Mix::iq3_m: return Q4_K;
            case Mix::q3_k_m: return i < 2 ? Q5_K : Q4_K;
            case Mix::q3_k_l: return Q5_K;
            case Mix::iq4_nl:
            case Mix::iq4_xs: return shares_heads() ? Q5_K : base_;
            case Mix::q4_k_m:
            case Mix::q5_k_m: return is_late_or_early ? Q6_K : base_;
            case Mix::q4_k_s: return i < 4 ? Q5_K : base_;
            default: return base_;
        }
    }

    DType query() const {
        if (mix_ == Mix::iq3_xs) return IQ3_XXS;
        return mix_ == Mix::iq3_xxs ? IQ2_S : base_;
    }

    DType down(int64_t i) const {
        const int64_t n = facts_.layers;
        const bool is_early = i < n / 8;
        const bool more = deserves_more(i, n);
        switch (mix_) {
            case Mix::q2_k: return Q3_K;
            case Mix::q2_k_s: return is_early ? Q4_K : base_;
            case Mix::iq3_xxs:
                if (has_importance_) return base_;
                return is_early ? Q4_K : Q3_K;
            case Mix::q3_k_m:
                if (i < n / 16) return Q5_K;
                return !facts_.is_falcon || more ? Q4_K : Q3_K;
            case Mix::iq3_m: return is_early || (facts_.experts == 8 && more) ? Q4_K : base_;
            case Mix::q3_k_l: return facts_.is_falcon ? Q4_K : Q5_K;
            case Mix::q4_k_m:
                if (!facts_.is_falcon) return more ? Q6_K : base_;
                return i < n / 16 ? Q6_K : more ? Q5_K : Q4_K;
            case Mix::iq4_nl:
            case Mix::iq4_xs: return is_early && !has_importance_ ? Q5_K : base_;
            case Mix::q5_k_m: return more ? Q6_K : base_;
            case Mix::q4_k_s: return is_early && !facts_.is_falcon ? Q5_K : base_;
            // With an importance matrix the first ones can come out badly; without one Q4_1 and Q5_1 would.
            case Mix::q4_0: return has_importance_ && is_early ? Q4_1 : base_;
            case Mix::q5_0: return has_importance_ && is_early ? Q5_1 : base_;
            default: return base_;
        }
    }

    DType attn_output() const {
        if (facts_.is_falcon) return mix_ == Mix::q3_k_l ? Q4_K : base_;
        if (facts_.experts == 8) {
            const bool is_small = is({Mix::q2_k, Mix::iq3_xs, Mix::iq3_xxs, Mix::q3_k_s, Mix::q3_k_m, Mix::iq4_nl,
                                      Mix::q4_k_s, Mix::q4_k_m, Mix::iq3_s, Mix::iq3_m, Mix::iq4_xs});
            return is_small ? Q5_K : base_;
        }
        switch (mix_) {
            case Mix::q2_k: return Q3_K;
            case Mix::iq3_xxs: return IQ3_S;
            case Mix::q3_k_m:
            case Mix::iq3_m: return Q4_K;
            case Mix::q3_k_l: return Q5_K;
            default: return base_;
        }
    }

    DType up_or_gate(int64_t i) const {
        const bool is_between = i >= facts_.layers / 8 && i < 7 * facts_.layers / 8;
        return mix_ == Mix::iq3_xs && is_between ? IQ3_XXS : base_;
    }

    const Facts& facts_;
    Mix mix_;
    DType base_;
    bool has_importance_;
    int64_t values_ = 0, downs_ = 0, gates_ = 0, ups_ = 0;  // how many there were
};

// A type of blocks of 32 in place of one of 256 (or 64).
DType smaller_blocks(DType type) {
    switch (type) {
        case IQ1_S:
        case IQ1_M:
        case IQ2_XXS:
        case IQ2_XS:
        case IQ2_S:
        case IQ3_XXS:
        case IQ3_S:
        case IQ4_XS: return IQ4_NL;
        case Q2_0:
        case Q2_K:
        case Q3_K:
        case TQ1_0:
        case TQ2_0: return Q4_0;
        case Q4_K: return Q5_0;
        case Q5_K: return Q5_1;
        case Q6_K: return Q8_0;
        default: return type;
    }
}

DType fitting(DType wanted, const GgufTensor& tensor) {
    if (tensor.ne[0] % block_elements(wanted) == 0) return wanted;
    const DType smaller = smaller_blocks(wanted);
    if (smaller == wanted && block_elements(wanted) > 32) {
        bad_input("tensor {} has rows of {} elements, which {} cannot hold, and no other type stands in for it",
                  quote(tensor.name), tensor.ne[0], name(wanted));
    }
    return tensor.ne[0] % block_elements(smaller) == 0 ? smaller : F16;
}

bool asks_for_importance(std::string_view name, DType type, const FileType& target) {
    const Part part = part_of(name);
    if (part == Part::head || part == Part::embedding) return false;
    if (type == Q2_K) return static_cast<Mix>(target.code) == Mix::q2_k_s;
    constexpr DType k_asking[] = {IQ3_XXS, IQ2_XXS, IQ2_XS, IQ2_S, IQ1_M, IQ1_S};
    return std::find(std::begin(k_asking), std::end(k_asking), type) != std::end(k_asking);
}

}  // namespace

std::vector<TypeChoice> keep_types(const Gguf& file) {
    std::vector<TypeChoice> all;
    for (const GgufTensor& tensor : file.tensors()) all.push_back({&tensor, tensor.type, tensor.type, false});
    std::sort(all.begin(), all.end(), [](const TypeChoice& a, const TypeChoice& b) {
        const int64_t left = block_of(a.tensor->name).value_or(-1), right = block_of(b.tensor->name).value_or(-1);
        return left != right ? left < right : a.tensor->name < b.tensor->name;
    });
    return all;
}

std::vector<TypeChoice> choose_types(const Gguf& file, const FileType& target, bool is_pure, bool has_importance) {
    std::vector<TypeChoice> all = keep_types(file);
    const Facts facts = read_facts(file);
    Chooser chooser(facts, target, has_importance);
    for (TypeChoice& choice : all) {
        const GgufTensor& tensor = *choice.tensor;
        if (!is_quantizable(tensor)) continue;
        const bool is_plain = !is_quantized(target.type);
        choice.wanted = is_plain || is_pure ? target.type : chooser.choose(tensor);
        choice.type = is_plain ? target.type : fitting(choice.wanted, tensor);
        choice.asks_for_importance = asks_for_importance(tensor.name, choice.type, target);
    }
    return all;
}

}  // namespace toy
