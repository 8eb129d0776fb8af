#pragma once
#include <string_view>
#include <vector>

#include "text/chat_template.h"
#include "text/training_text.h"

namespace toy {

/// Makes documents to train on of conversations. Targets are what the assistant says, its end-of-turn token included,
/// and nothing else: not what others say, not the header of its turn, not what the generation prompt supplies (an empty
/// think block, say), not the line break behind the end of a turn.
///
/// What the assistant says is told by the template's {% generation %} blocks, or, where it has none, by rendering: up
/// to each of its turns with the generation prompt, and with the turn. Where a template spells earlier turns otherwise
/// once more follows (dropping their reasoning), the turn counts as it stands in the whole conversation.
class ConversationEncoder {
 public:
    using Json = ChatTemplate::Json;

    /// Both must outlive it. `options.add_generation_prompt` is of no account.
    ConversationEncoder(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                        ChatTemplate::Options options = {});

    /// `name` says in sentences which conversation it is ("chats.jsonl, line 7"). Throws Error{bad_input} where nothing
    /// or everything would be a target, where a turn ends without an end-of-generation token, and where the template
    /// rewrites a conversation such that what was said cannot be found in it.
    TrainingText encode(const Json& messages, std::string_view name = "the conversation") const;

 private:
    const ChatTemplate& template_;
    const Tokenizer& tokenizer_;
    ChatTemplate::Options options_;
};

/// Where each id lies in the text that it was encoded from: the byte at which it begins, and at the end the size of the
/// text. BOS that was added takes no bytes. Throws Error{bad_input} where the tokenizer does not keep the text.
std::vector<size_t> token_starts(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, std::string_view text);

}  // namespace toy
