#include "text/detokenizer.h"

#include "text/utf8.h"

namespace toy {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, std::span<const int32_t> previous, bool render_special)
    : tokenizer_(&tokenizer),
      render_special_(render_special),
      at_start_(previous.empty() || tokenizer.bos() == previous.back()) {}

std::string Detokenizer::push(int32_t id) {
    pending_ += tokenizer_->decode({&id, 1}, {.render_special = render_special_, .continuation = !at_start_});
    at_start_ = tokenizer_->bos() == id;
    const size_t whole = pending_.size() - utf8::incomplete_suffix(pending_);
    const std::string text = utf8::repaired(std::string_view(pending_).substr(0, whole));
    pending_.erase(0, whole);
    return text;
}

std::string Detokenizer::finish() {
    const std::string text = utf8::repaired(pending_);
    pending_.clear();
    return text;
}

}  // namespace toy
