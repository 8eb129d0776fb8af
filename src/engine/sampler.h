#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/random.h"

namespace toy {

/// How the next token is chosen from the logits. Defaults mean "off"; temperature 0 is greedy.
struct Sampling {
    float temperature = 0.0f;        ///< divides logits; 0: the most likely token
    int top_k = 0;                   ///< keep the k most likely; 0: all
    float top_p = 1.0f;              ///< keep the fewest whose probabilities reach p (arXiv 1904.09751); 1: all
    float min_p = 0.0f;              ///< drop those below p times the most likely (arXiv 2407.01082); 0: none
    float typical = 1.0f;            ///< locally typical sampling (arXiv 2202.00666); 1: off
    float repeat_penalty = 1.0f;     ///< logits of recent tokens divided (or, if negative, multiplied) by it; 1: off
    int repeat_last_n = 64;          ///< how many tokens count as recent, prompt included; -1: all
    float presence_penalty = 0.0f;   ///< subtracted from logits of recent tokens
    float frequency_penalty = 0.0f;  ///< subtracted once for each recent occurrence
    std::map<int32_t, float> logit_bias = {};  ///< added to logits first; −infinity forbids a token
    uint64_t seed = 0;

    bool operator==(const Sampling&) const = default;
};
/// Throws Error{bad_input} naming the value that is out of range; ids must lie in 0..vocabulary-1.
void check(const Sampling& sampling, int64_t vocabulary);

/// Chooses tokens for one sequence. The i-th choice depends on the seed, i and the logits alone, so neighbours in a
/// batch change nothing. Order: bias, penalties, then greedy, or top-k, typical, top-p, min-p, temperature and the draw
/// (the order of llama.cpp's default chain).
class Sampler {
 public:
    Sampler(const Sampling& sampling, int64_t vocabulary);

    /// A token of the prompt or one that was chosen: it counts as recent from now on.
    void accept(int32_t id) { history_.push_back(id); }
    /// The next token, from logits of V tokens. Throws Error{failure} where they are all NaN or −infinity.
    int32_t choose(std::span<const float> logits);

 private:
    struct Candidate {
        int32_t id;
        float logit;
        double probability;
    };
    void apply_bias_and_penalties();
    std::vector<Candidate> most_likely() const;
    int32_t draw(std::vector<Candidate> candidates);

    Sampling sampling_;
    Random random_;
    std::vector<int32_t> history_;
    std::vector<float> logits_;
};

/// A token with its log-probability before any sampling, natural logarithm.
struct TokenLogprob {
    int32_t id;
    float logprob;
};
/// log Σ exp of the logits, in double.
double log_sum_exp(std::span<const float> logits);
/// The k most likely tokens, most likely first, ties by the smaller id.
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int k);

}  // namespace toy
