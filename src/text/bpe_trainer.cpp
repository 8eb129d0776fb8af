#include "text/bpe_trainer.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "text/pretokenizers.h"
#include "text/string_index.h"
#include "text/utf8.h"

namespace toy {
namespace {

constexpr size_t k_chunk_bytes = size_t{1} << 20;
// Positions in the words are 32-bit.
constexpr size_t k_max_symbols = std::numeric_limits<int32_t>::max();

bool is_graphic(char c) { return c > 0x20 && c < 0x7F; }

/// How much of the text to cut into words at once, so that their list stays small: up to a line break with printable
/// ASCII on both sides, where GPT-2's pattern cuts whatever stands around it.
size_t chunk_of(std::string_view text) {
    if (text.size() <= k_chunk_bytes) return text.size();
    for (size_t at = k_chunk_bytes; at + 1 < text.size(); ++at) {
        if (text[at] == '\n' && is_graphic(text[at - 1]) && is_graphic(text[at + 1])) return at + 1;
    }
    return text.size();
}

uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

/// The words as chains of tokens in which pairs merge, and how often each pair occurs.
class Merging {
 public:
    explicit Merging(ByteMerges& result) : result_(result) {
        for (int32_t byte = 0; byte < 256; ++byte) add_token(std::string(1, static_cast<char>(byte)));
    }

    void add_word(std::string_view word, int64_t count) {
        const auto weight = static_cast<int32_t>(weights_.size());
        weights_.push_back(count);
        for (size_t i = 0; i < word.size(); ++i) {
            const auto at = static_cast<int32_t>(symbols_.size());
            const bool is_last = i + 1 == word.size();
            symbols_.push_back(
                {static_cast<uint8_t>(word[i]), i == 0 ? none : at - 1, is_last ? none : at + 1, weight});
        }
    }

    /// To be called once, when all words are in.
    void count_pairs() {
        for (size_t at = 0; at < symbols_.size(); ++at) note_pair(static_cast<int32_t>(at));
        queue_changed();
    }

    /// Merges the most frequent pair; false where none occurs twice.
    bool merge_best() {
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end());
            const Candidate best = heap_.back();
            heap_.pop_back();
            Pair& pair = pairs_.at(best.key);
            if (pair.count != best.count) {  // counted when it was queued, changed since
                if (pair.count < best.count && pair.count > 1) push({pair.count, best.key});
                continue;
            }
            merge(best.key, std::move(pair.places));
            return true;
        }
        return false;
    }

 private:
    static constexpr int32_t none = -1;
    struct Symbol {
        int32_t token;  // none: it has become part of the one before
        int32_t previous, next;
        int32_t word;
    };
    struct Pair {
        int64_t count = 0;
        std::vector<int32_t> places;  // of the left symbol; some no longer hold the pair
        bool is_changed = false;      // its count grew since it was queued
    };
    struct Candidate {
        int64_t count;
        uint64_t key;
        /// The largest is merged first: the most frequent, then the smallest pair.
        bool operator<(const Candidate& other) const {
            return count != other.count ? count < other.count : key > other.key;
        }
    };

    int32_t add_token(std::string bytes) {
        const auto [at, is_new] = by_bytes_.emplace(std::move(bytes), static_cast<int32_t>(result_.tokens.size()));
        if (is_new) result_.tokens.push_back(at->first);
        return at->second;  // another pair may have made the same text before
    }

    void push(Candidate candidate) {
        heap_.push_back(candidate);
        std::push_heap(heap_.begin(), heap_.end());
    }

    uint64_t key_at(int32_t left) const { return key_of(symbols_[left].token, symbols_[symbols_[left].next].token); }

    /// Counts the pair that begins at a symbol, where one does.
    void note_pair(int32_t left) {
        if (left == none || symbols_[left].next == none) return;
        const uint64_t key = key_at(left);
        Pair& pair = pairs_[key];
        pair.count += weights_[symbols_[left].word];
        pair.places.push_back(left);
        if (!pair.is_changed) changed_.push_back(key);
        pair.is_changed = true;
    }
    void forget_pair(int32_t left) {
        if (left == none || symbols_[left].next == none) return;
        pairs_.at(key_at(left)).count -= weights_[symbols_[left].word];
    }

    void queue_changed() {
        for (const uint64_t key : changed_) {
            Pair& pair = pairs_.at(key);
            pair.is_changed = false;
            if (pair.count > 1) push({pair.count, key});
        }
        changed_.clear();
    }

    void merge(uint64_t key, std::vector<int32_t> places) {
        const auto left_token = static_cast<int32_t>(key >> 32), right_token = static_cast<int32_t>(key & UINT32_MAX);
        const int32_t merged = add_token(result_.tokens[left_token] + result_.tokens[right_token]);
        result_.merges.emplace_back(left_token, right_token);
        std::sort(places.begin(), places.end());  // where pairs overlap ("aaa"), the leftmost merges
        for (const int32_t at : places) {
            Symbol& left = symbols_[at];
            if (left.token != left_token || left.next == none || symbols_[left.next].token != right_token) continue;
            Symbol& right = symbols_[left.next];
            forget_pair(left.previous);
            forget_pair(at);
            forget_pair(left.next);
            left.token = merged;
            left.next = right.next;
            if (right.next != none) symbols_[right.next].previous = at;
            right = {none, none, none, none};
            note_pair(left.previous);
            note_pair(at);
        }
        queue_changed();
    }

    ByteMerges& result_;
    std::vector<Symbol> symbols_;
    std::vector<int64_t> weights_;  // how often each word occurs
    std::unordered_map<uint64_t, Pair> pairs_;
    std::vector<uint64_t> changed_;
    std::vector<Candidate> heap_;
    std::unordered_map<std::string, int32_t> by_bytes_;
};

}  // namespace

size_t BpeTrainer::Hash::operator()(std::string_view text) const { return hash_bytes(text); }

BpeTrainer::BpeTrainer() : split_(find_pretokenizer("gpt-2")->steps) {}

void BpeTrainer::add(std::string_view text) {
    while (!text.empty()) {
        const size_t valid = utf8::valid_prefix(text.substr(0, chunk_of(text)));
        if (valid > 0) {
            split_.split(text.substr(0, valid), cut_);
            for (const std::string_view word : cut_) count(word);
        } else {
            count(text.substr(0, 1));  // a byte of no character is a word of its own
        }
        text.remove_prefix(std::max<size_t>(valid, 1));
    }
}

void BpeTrainer::count(std::string_view word) {
    const auto known = counts_.find(word);
    if (known != counts_.end()) {
        ++known->second;
    } else {
        counts_.emplace(word, 1);
    }
}

ByteMerges BpeTrainer::train(int32_t size, const std::function<void(int32_t)>& progress) const {
    if (size < 256) bad_input("a byte-level vocabulary has at least the 256 bytes, so {} tokens are too few", size);
    size_t symbols = 0;
    for (const auto& [word, count] : counts_) symbols += word.size();
    if (symbols > k_max_symbols) {
        bad_input("the different words of the text take {} bytes; at most {} can be merged", symbols, k_max_symbols);
    }
    ByteMerges result;
    Merging merging(result);
    for (const auto& [word, count] : counts_) merging.add_word(word, count);
    merging.count_pairs();
    while (result.tokens.size() < static_cast<size_t>(size)) {
        if (!merging.merge_best()) {
            bad_input("the text is too short for a vocabulary of {} tokens: after {} no pair of tokens occurs twice",
                      size, result.tokens.size());
        }
        if (progress) progress(static_cast<int32_t>(result.tokens.size()));
    }
    return result;
}

}  // namespace toy
