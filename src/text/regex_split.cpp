#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex_split.h"

#include <pcre2.h>
#include <utf8proc.h>

#include <string>

#include "core/error.h"
#include "text/utf8.h"

namespace toy {
namespace {

using Words = std::vector<std::string_view>;

/// `\s` as Unicode's White_Space, which Python, Rust and Oniguruma mean by it; PCRE2's own also takes U+180E.
std::string with_unicode_spaces(std::string_view pattern) {
    std::string result;
    for (size_t i = 0; i < pattern.size(); ++i) {
        const bool escape = pattern[i] == '\\' && i + 1 < pattern.size();
        if (escape && pattern[i + 1] == 's') {
            result += "\\p{White_Space}";
        } else if (escape && pattern[i + 1] == 'S') {
            result += "\\P{White_Space}";
        } else {
            result += pattern.substr(i, escape ? 2 : 1);
        }
        i += escape ? 1 : 0;
    }
    return result;
}

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

bool is_decimal(char32_t code) {
    return code < 0x80 ? code >= '0' && code <= '9' : category(code) == UTF8PROC_CATEGORY_ND;
}

bool is_number(char32_t code) {
    const utf8proc_category_t kind = category(code);
    return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

/// What `\w` takes: letters, marks, numbers and connecting punctuation.
bool is_word(char32_t code) {
    const utf8proc_category_t kind = category(code);
    return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NO) || kind == UTF8PROC_CATEGORY_PC;
}

/// Cuts runs of digits into groups of three, counted from the end of the run.
void split_thousands(std::string_view text, SplitStep::Kind kind, Words& words) {
    const bool isolate = kind == SplitStep::Kind::thousands_at_word_end;
    const bool cut_after = isolate || kind == SplitStep::Kind::thousands_after;
    size_t begin = 0;  // of the word that is open
    const auto cut = [&](size_t at) {
        if (at > begin) words.push_back(text.substr(begin, at - begin));
        begin = at;
    };
    std::vector<size_t> starts;  // of the digits in a run
    for (size_t at = 0; at < text.size();) {
        utf8::Character next = utf8::decode(text.substr(at));
        const auto belongs = [&] {
            return kind == SplitStep::Kind::thousands_after ? is_number(next.code) : is_decimal(next.code);
        };
        if (!belongs()) {
            at += next.length;
            continue;
        }
        starts.clear();
        bool ended = false;
        while (!ended && belongs()) {
            starts.push_back(at);
            at += next.length;
            ended = at == text.size();
            if (!ended) next = utf8::decode(text.substr(at));
        }
        if (isolate && !ended && is_word(next.code)) continue;
        const size_t first_group = starts.size() % 3;
        for (size_t i = 0; i < starts.size(); ++i) {
            const bool group = i % 3 == first_group;
            if ((isolate && i == 0) || (group && (i > 0 || !cut_after))) cut(starts[i]);
        }
        if (cut_after) cut(at);
    }
    cut(text.size());
}

}  // namespace

struct RegexSplit::Pattern {
    explicit Pattern(std::string_view source) {
        const std::string text = with_unicode_spaces(source);
        int code_number = 0;
        size_t offset = 0;
        code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY, &code_number, &offset,
                             nullptr);
        if (code == nullptr) failure("PCRE2 refuses the pattern {} at {} (error {})", text, offset, code_number);
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it cannot, matching interprets the pattern
    }
    ~Pattern() { pcre2_code_free(code); }
    Pattern(const Pattern&) = delete;

    void split(std::string_view text, pcre2_match_data* match, Words& words) const {
        const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
        const size_t* bounds = pcre2_get_ovector_pointer(match);
        size_t begin = 0;
        while (begin < text.size()) {
            const int found = pcre2_match(code, subject, text.size(), begin, PCRE2_NO_UTF_CHECK, match, nullptr);
            if (found == PCRE2_ERROR_NOMATCH) break;
            if (found < 0) failure("PCRE2 fails to match a pre-tokenizer's pattern (error {})", found);
            if (bounds[0] > begin) words.push_back(text.substr(begin, bounds[0] - begin));
            words.push_back(text.substr(bounds[0], bounds[1] - bounds[0]));
            begin = bounds[1];
        }
        if (begin < text.size()) words.push_back(text.substr(begin));
    }

    pcre2_code* code = nullptr;
};

RegexSplit::RegexSplit(std::span<const SplitStep> steps) {
    for (const SplitStep& step : steps) {
        const bool pattern = step.kind == SplitStep::Kind::pattern;
        steps_.push_back({step.kind, pattern ? std::make_unique<const Pattern>(step.pattern) : nullptr});
    }
}

RegexSplit::~RegexSplit() = default;

void RegexSplit::split(std::string_view text, Words& words) const {
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(pcre2_match_data_create(1, nullptr),
                                                                               pcre2_match_data_free);
    if (match == nullptr) failure("out of memory");
    words.assign(1, text);
    Words cut;
    for (const Step& step : steps_) {
        cut.clear();
        for (const std::string_view stretch : words) {
            if (step.pattern) {
                step.pattern->split(stretch, match.get(), cut);
            } else {
                split_thousands(stretch, step.kind, cut);
            }
        }
        words.swap(cut);
    }
}

}  // namespace toy
