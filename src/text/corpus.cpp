#include "text/corpus.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"

namespace toy {
namespace {

CorpusSplit split_by_position(const Corpus& whole, double fraction) {
    const TokenRange all = whole.documents[0];
    const auto first = static_cast<int64_t>(std::floor(static_cast<double>(all.size()) * (1.0 - fraction)));
    const int64_t cut = all.begin + std::clamp<int64_t>(first, 0, all.size());
    return {{whole.tokens, {{all.begin, cut}}}, {whole.tokens, {{cut, all.end}}}};
}

/// The documents that validate: those that a fixed random order puts first.
std::vector<bool> choose_validation(size_t documents, double fraction) {
    const auto wanted = static_cast<size_t>(std::llround(static_cast<double>(documents) * fraction));
    std::vector<size_t> order(documents);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [](size_t a, size_t b) { return mix64(a) < mix64(b); });
    std::vector<bool> chosen(documents, false);
    for (size_t i = 0; i < std::clamp<size_t>(wanted, 1, documents - 1); ++i) chosen[order[i]] = true;
    return chosen;
}

}  // namespace

int64_t Corpus::targets_in(TokenRange range) const {
    if (tokens->predicts_all()) return std::max<int64_t>(range.size(), 0);
    int64_t targets = 0;
    for (int64_t at = range.begin; at < range.end; ++at) targets += is_target(at);
    return targets;
}

CorpusCounts Corpus::count() const {
    CorpusCounts counts;
    counts.documents = static_cast<int64_t>(documents.size());
    for (const TokenRange& document : documents) {
        counts.tokens += document.size();
        const int64_t targets = targets_in({document.begin + 1, document.end});
        counts.targets += targets;
        counts.documents_without_target += targets == 0;
    }
    return counts;
}

CorpusSplit split_corpus(const Corpus& whole, double fraction) {
    if (fraction <= 0 || whole.documents.empty()) return {whole, {whole.tokens, {}}};
    if (whole.documents.size() == 1) return split_by_position(whole, fraction);
    const std::vector<bool> validates = choose_validation(whole.documents.size(), fraction);
    CorpusSplit split = {{whole.tokens, {}}, {whole.tokens, {}}};
    for (size_t i = 0; i < whole.documents.size(); ++i) {
        (validates[i] ? split.validation : split.train).documents.push_back(whole.documents[i]);
    }
    return split;
}

}  // namespace toy
