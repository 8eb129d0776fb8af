#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "core/error.h"

namespace toy {
namespace {

void require(bool is_good, const char* what, double value, const char* range) {
    if (!is_good) bad_input("{} is {}, but must be {}", what, value, range);
}

template <class Candidates>
void normalise(Candidates& candidates) {
    double total = 0;
    const double most = candidates.front().logit;
    for (auto& candidate : candidates) {
        candidate.probability = std::exp(candidate.logit - most);
        total += candidate.probability;
    }
    for (auto& candidate : candidates) candidate.probability /= total;
}

// Keeps the fewest of the first candidates whose probabilities reach p, at least one.
template <class Candidates>
void keep_mass(Candidates& candidates, double p) {
    double mass = 0;
    size_t kept = 0;
    while (kept < candidates.size() && (kept == 0 || mass < p)) mass += candidates[kept++].probability;
    candidates.resize(kept);
}

// Sorts by the distance of a token's surprise from the expected one, keeps a mass of p, and restores the order.
template <class Candidates>
void keep_typical(Candidates& candidates, double p) {
    double entropy = 0;
    for (const auto& c : candidates) {
        if (c.probability > 0) entropy -= c.probability * std::log(c.probability);
    }
    const auto distance = [&](const auto& c) { return std::abs(-std::log(c.probability) - entropy); };
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    keep_mass(candidates, p);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.logit > b.logit; });
}

}  // namespace

void check(const Sampling& s, int64_t vocabulary) {
    require(s.temperature >= 0 && std::isfinite(s.temperature), "temperature", s.temperature, "a number of at least 0");
    require(s.top_k >= 0, "top-k", s.top_k, "at least 0");
    require(s.top_p > 0 && s.top_p <= 1, "top-p", s.top_p, "above 0 and at most 1");
    require(s.min_p >= 0 && s.min_p <= 1, "min-p", s.min_p, "in 0..1");
    require(s.typical > 0 && s.typical <= 1, "typical", s.typical, "above 0 and at most 1");
    require(s.repeat_penalty > 0 && std::isfinite(s.repeat_penalty), "repeat-penalty", s.repeat_penalty, "above 0");
    require(s.repeat_last_n >= -1, "repeat-last-n", s.repeat_last_n, "-1 (all) or at least 0");
    require(std::isfinite(s.presence_penalty), "presence-penalty", s.presence_penalty, "a number");
    require(std::isfinite(s.frequency_penalty), "frequency-penalty", s.frequency_penalty, "a number");
    for (const auto& [id, bias] : s.logit_bias) {
        if (id < 0 || id >= vocabulary) bad_input("logit-bias: there is no token {}, only 0..{}", id, vocabulary - 1);
        require(!std::isnan(bias) && bias != std::numeric_limits<float>::infinity(), "logit-bias", bias,
                "a number or -inf");
    }
}

Sampler::Sampler(const Sampling& sampling, int64_t vocabulary) : sampling_(sampling), random_(sampling.seed) {
    check(sampling, vocabulary);
}

void Sampler::apply_bias_and_penalties() {
    for (const auto& [id, bias] : sampling_.logit_bias) logits_[static_cast<size_t>(id)] += bias;
    const bool has_penalty =
        sampling_.repeat_penalty != 1.0f || sampling_.presence_penalty != 0.0f || sampling_.frequency_penalty != 0.0f;
    if (!has_penalty || sampling_.repeat_last_n == 0) return;
    const size_t recent = sampling_.repeat_last_n < 0
                              ? history_.size()
                              : std::min(history_.size(), static_cast<size_t>(sampling_.repeat_last_n));
    std::unordered_map<int32_t, int> counts;
    for (size_t i = history_.size() - recent; i < history_.size(); ++i) ++counts[history_[i]];
    for (const auto& [id, count] : counts) {
        float& logit = logits_[static_cast<size_t>(id)];
        logit = logit > 0 ? logit / sampling_.repeat_penalty : logit * sampling_.repeat_penalty;
        logit -= sampling_.presence_penalty + sampling_.frequency_penalty * static_cast<float>(count);
    }
}

// The candidates that top-k leaves, most likely first; ties by the smaller id, so that the order never depends on the
// sorting algorithm.
std::vector<Sampler::Candidate> Sampler::most_likely() const {
    std::vector<Candidate> all;
    all.reserve(logits_.size());
    for (size_t i = 0; i < logits_.size(); ++i) {
        if (logits_[i] > -std::numeric_limits<float>::infinity())
            all.push_back({static_cast<int32_t>(i), logits_[i], 0});
    }
    const auto before = [](const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    };
    const size_t k = sampling_.top_k > 0 ? std::min(all.size(), static_cast<size_t>(sampling_.top_k)) : all.size();
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(k), all.end(), before);
    all.resize(k);
    return all;
}

int32_t Sampler::draw(std::vector<Candidate> candidates) {
    normalise(candidates);
    if (sampling_.typical < 1.0f) keep_typical(candidates, sampling_.typical);
    if (sampling_.top_p < 1.0f) {
        normalise(candidates);
        keep_mass(candidates, sampling_.top_p);
    }
    if (sampling_.min_p > 0.0f) {
        const float least = candidates.front().logit + std::log(sampling_.min_p);
        std::erase_if(candidates, [&](const Candidate& c) { return c.logit < least; });
    }
    for (Candidate& c : candidates) c.logit /= sampling_.temperature;
    normalise(candidates);
    double left = random_.uniform();
    for (const Candidate& c : candidates) {
        left -= c.probability;
        if (left < 0) return c.id;
    }
    return candidates.back().id;
}

int32_t Sampler::choose(std::span<const float> logits) {
    logits_.assign(logits.begin(), logits.end());
    apply_bias_and_penalties();
    const auto best = std::max_element(logits_.begin(), logits_.end(),
                                       [](float a, float b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
    if (!(*best > -std::numeric_limits<float>::infinity()))
        failure("all logits are NaN or -inf: there is no next token");
    if (std::any_of(logits_.begin(), logits_.end(), [](float l) { return std::isnan(l); })) {
        failure("some logits are NaN: the model or its file is damaged");
    }
    const int32_t id =
        sampling_.temperature == 0.0f ? static_cast<int32_t>(best - logits_.begin()) : draw(most_likely());
    accept(id);
    return id;
}

double log_sum_exp(std::span<const float> logits) {
    const float most = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
    return most + std::log(sum);
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int k) {
    const double total = log_sum_exp(logits);
    std::vector<int32_t> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto count = static_cast<std::ptrdiff_t>(std::min(ids.size(), static_cast<size_t>(std::max(k, 0))));
    std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](int32_t a, int32_t b) {
        const float x = logits[static_cast<size_t>(a)];
        const float y = logits[static_cast<size_t>(b)];
        return x != y ? x > y : a < b;
    });
    std::vector<TokenLogprob> top;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        const int32_t id = ids[static_cast<size_t>(i)];
        top.push_back({id, static_cast<float>(logits[static_cast<size_t>(id)] - total)});
    }
    return top;
}

}  // namespace toy
