#include "text/conversation_encoder.h"

#include <algorithm>

#include "core/error.h"
#include "io/quote.h"

namespace toy {
namespace {

using Json = ChatTemplate::Json;

// Follows an answer in a second rendering, to find where it ends; no text holds it by chance.
constexpr std::string_view k_marker = "Zq7EndOfTheAnswer7qZ";

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

std::string_view without_trailing_space(std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

// How many bytes at the start of the text the piece stands for; nothing where it does not. To SentencePiece "\u2581" in
// a text is a space like any other.
std::optional<size_t> match(std::string_view text, std::string_view piece) {
    if (text.starts_with(piece)) return piece.size();
    constexpr std::string_view bar = "\u2581";
    size_t at = 0;
    for (const char c : piece) {
        const std::string_view rest = text.substr(at);
        if (rest.starts_with(c)) {
            ++at;
        } else if (c == ' ' && rest.starts_with(bar)) {
            at += bar.size();
        } else {
            return {};
        }
    }
    return at;
}

Json first_messages(const Json& messages, size_t count) {
    Json first = Json::array();
    for (size_t i = 0; i < count; ++i) first.push_back(messages[i]);
    return first;
}

/// One conversation on its way to tokens.
class Document {
 public:
    Document(const ChatTemplate& chat, const Tokenizer& tokenizer, const ChatTemplate::Options& options,
             const Json& messages)
        : chat_(chat), tokenizer_(tokenizer), options_(options), messages_(messages) {
        options_.add_generation_prompt = false;
        output_ = chat_.render_with_spans(messages_, options_);
        ids_ = encode_chat(tokenizer_, text());
        starts_ = token_starts(tokenizer_, ids_, text());
        is_target_.assign(ids_.size(), 0);
    }

    TrainingText finish() {
        std::vector<size_t> turns;
        for (size_t i = 0; i < messages_.size(); ++i) {
            if (messages_[i]["role"] == "assistant") turns.push_back(i);
        }
        if (turns.empty()) bad_input("the assistant says nothing in it, so there is nothing to train on");
        if (chat_.has_generation() && !output_.has_hidden_generation) {
            mark_generation(turns);
        } else {
            for (const size_t turn : turns) mark_turn(turn);
        }
        if (std::ranges::count(is_target_, 1) == 0) bad_input("no token of it would be trained on");
        if (std::ranges::count(is_target_, 0) == 0) {
            bad_input("all of its tokens would be trained on, so what the assistant says is not told from the rest");
        }
        return {std::move(ids_), std::move(is_target_)};
    }

 private:
    const std::string& text() const { return output_.text; }
    bool begins_with(std::string_view other) const { return std::string_view(text()).starts_with(other); }

    std::string prompt_of(size_t turn, bool with_prompt, const Json& extra) const {
        ChatTemplate::Options options = options_;
        options.add_generation_prompt = with_prompt;
        options.extra = extra;
        return chat_.render(first_messages(messages_, turn), options);
    }

    // The prompt of models that can answer without thinking supplies an empty think block when told so; an answer that
    // has one is an answer to that prompt.
    std::optional<size_t> without_thinking(size_t turn) const {
        if (options_.extra.contains("enable_thinking")) return {};
        Json extra = options_.extra;
        extra["enable_thinking"] = false;
        try {
            const std::string prompt = prompt_of(turn, true, extra);
            if (begins_with(prompt)) return prompt.size();
        } catch (const Error&) {  // a template that refuses this has no such prompt
        }
        return {};
    }

    // Where the turn begins: behind all that the generation prompt supplies.
    size_t begin_of(size_t turn) const {
        const std::string prompt = prompt_of(turn, true, options_.extra);
        const size_t usual = begins_with(prompt) ? prompt.size() : 0;
        const size_t begin = std::max(usual, without_thinking(turn).value_or(0));
        if (begin > 0 || prompt.empty()) return begin;
        // The prompt goes on otherwise than the turn does (it opens a think block that the turn has not): what both
        // have in common is supplied, in whole tokens.
        const std::string before = prompt_of(turn, false, options_.extra);
        if (!begins_with(before) || !prompt.starts_with(before)) refuse_rewriting(turn);
        const std::vector<int32_t> ids = encode_chat(tokenizer_, prompt);
        const auto place = std::ranges::mismatch(ids, ids_).in2 - ids_.begin();
        return std::max(starts_[static_cast<size_t>(place)], before.size());
    }

    // Where the answer's own text ends; nothing where that cannot be told.
    std::optional<size_t> end_of_content(size_t turn) const {
        const Json& message = messages_[turn];
        const auto content = message.find("content");
        const bool is_text =
            content != message.end() && content->is_string() && !content->get_ref<const std::string&>().empty();
        if (!is_text || message.contains("tool_calls")) return {};
        Json marked = messages_;
        marked[turn]["content"] = content->get<std::string>() + std::string(k_marker);
        std::string other;
        try {
            other = chat_.render(marked, options_);
        } catch (const Error&) {
            return {};
        }
        const size_t at = other.find(k_marker);
        if (at == std::string::npos || other.find(k_marker, at + 1) != std::string::npos) return {};
        const std::string_view before = without_trailing_space(std::string_view(other).substr(0, at));
        if (!begins_with(before)) return {};
        return before.size();
    }

    bool ends_turn(size_t token) const { return tokenizer_.is_end_of_generation(ids_[token]); }

    // The token that ends the turn.
    size_t last_token_of(size_t turn, size_t begin) const {
        const auto content = end_of_content(turn);
        if (content) {
            const size_t from = std::max(*content, begin);
            for (size_t i = first_token_from(from); i < ids_.size(); ++i) {
                if (!ends_turn(i)) continue;
                if (is_blank(std::string_view(text()).substr(from, starts_[i] - from))) return i;
                break;
            }
        }
        const std::string until = prompt_of(turn + 1, false, options_.extra);
        if (!begins_with(until)) {
            if (content) refuse_endless(turn);
            refuse_rewriting(turn);
        }
        const size_t from = first_token_from(std::max(content.value_or(0), begin));
        std::optional<size_t> last;
        for (size_t i = from; i < ids_.size() && starts_[i] < until.size(); ++i) {
            if (ends_turn(i)) last = i;
            if (last && content) break;
        }
        if (!last) refuse_endless(turn);
        return *last;
    }

    size_t first_token_from(size_t byte) const {
        return static_cast<size_t>(std::lower_bound(starts_.begin(), starts_.end() - 1, byte) - starts_.begin());
    }

    // All tokens with a byte in [begin, end).
    void mark(size_t begin, size_t end) {
        for (size_t i = 0; i < ids_.size(); ++i) {
            if (starts_[i] < end && starts_[i + 1] > begin) is_target_[i] = 1;
        }
    }

    void mark_turn(size_t turn) {
        const size_t begin = begin_of(turn);
        mark(begin, starts_[last_token_of(turn, begin) + 1]);
    }

    // As the template says, but for what the prompt supplies; through the end-of-turn token, whichever side of the
    // block's end it is on, and no further.
    void mark_generation(const std::vector<size_t>& turns) {
        std::vector<jinja::Span> spans = output_.generation;
        std::erase_if(spans, [](const jinja::Span& span) { return span.begin == span.end; });
        for (size_t i = 0; i < spans.size(); ++i) {
            size_t begin = spans[i].begin;
            if (spans.size() == turns.size()) {
                const std::string prompt = prompt_of(turns[i], true, options_.extra);
                const size_t supplied =
                    std::max(begins_with(prompt) ? prompt.size() : 0, without_thinking(turns[i]).value_or(0));
                if (supplied > begin && supplied < spans[i].end) begin = supplied;
            }
            std::optional<size_t> last;
            size_t token = first_token_from(begin);
            for (; token < ids_.size() && starts_[token] < spans[i].end; ++token) {
                if (ends_turn(token)) last = token;
            }
            if (!last && token < ids_.size() && ends_turn(token)) last = token;
            if (!last) refuse_endless(turns[std::min(i, turns.size() - 1)]);
            mark(begin, starts_[*last + 1]);
        }
    }

    [[noreturn]] static void refuse_endless(size_t message) {
        bad_input(
            "the template ends what the assistant says in message {} without an end-of-generation token, so a model "
            "that is trained on it would never stop",
            message + 1);
    }
    [[noreturn]] static void refuse_rewriting(size_t message) {
        bad_input(
            "the template rewrites the conversation around message {} once more follows, so what the assistant says "
            "there cannot be found: make each of its answers the last message of a conversation",
            message + 1);
    }

    const ChatTemplate& chat_;
    const Tokenizer& tokenizer_;
    ChatTemplate::Options options_;
    const Json& messages_;
    jinja::Template::Output output_;
    std::vector<int32_t> ids_;
    std::vector<size_t> starts_;  // of each token in the text, then the text's size
    std::vector<uint8_t> is_target_;
};

}  // namespace

std::vector<size_t> token_starts(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, std::string_view text) {
    std::vector<size_t> starts;
    size_t at = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
        const int32_t id = ids[i];
        const TokenType type = tokenizer.type(id);
        const bool is_special = type == TokenType::control || type == TokenType::unknown;
        const std::string_view piece = is_special ? tokenizer.text(id) : tokenizer.piece(id);
        auto size = match(text.substr(at), piece);
        if (i == 0 && tokenizer.bos() == id && !size) {
            starts.push_back(0);  // added, not written
            continue;
        }
        // A space that the tokenizer put before a text, and white space that a control token swallowed.
        const std::string_view bare = piece.starts_with(' ') ? piece.substr(1) : piece;
        if (!size) size = match(text.substr(at), bare);
        while (!size && at < text.size() && is_blank(text.substr(at, 1))) {
            ++at;
            size = match(text.substr(at), piece);
            if (!size) size = match(text.substr(at), bare);
        }
        if (!size) {
            bad_input(
                "its token {} is {}, which is not what its text holds there: this tokenizer does not keep texts as "
                "they "
                "are, so what the assistant says cannot be found among the tokens",
                i + 1, quote(tokenizer.text(id)));
        }
        starts.push_back(at);
        at += *size;
    }
    if (!is_blank(text.substr(at))) bad_input("its tokens end before its text does");
    starts.push_back(text.size());
    return starts;
}

ConversationEncoder::ConversationEncoder(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                                         ChatTemplate::Options options)
    : template_(chat_template), tokenizer_(tokenizer), options_(std::move(options)) {
    if (!options_.now) options_.now = jinja::local_time();  // one day for all renderings of a conversation
}

TrainingText ConversationEncoder::encode(const Json& messages, std::string_view name) const {
    try {
        return Document(template_, tokenizer_, options_, messages).finish();
    } catch (const Error& error) {
        throw Error(error.kind(), fmt::format("{}: {}", name, error.what()));
    }
}

}  // namespace toy
