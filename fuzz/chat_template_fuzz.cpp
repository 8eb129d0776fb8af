// Runs arbitrary bytes as a chat template over a small conversation. Whatever it is, it is refused with one sentence,
// or it gives text, within the limits of a template, and the same text twice.
//
//   chat_template_fuzz CORPUS
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "text/jinja/template.h"

namespace {

using Json = nlohmann::ordered_json;

// Smaller than what models get, so that an input takes milliseconds.
const toy::jinja::Limits k_limits = {.steps = 100'000, .text_bytes = 1 << 20, .memory_bytes = 8 << 20};

Json conversation(FuzzedDataProvider& data) {
    static constexpr const char* roles[] = {"system", "user", "assistant", "tool"};
    Json messages = Json::array();
    for (int n = data.ConsumeIntegralInRange(0, 4); n > 0; --n) {
        Json message = {{"role", data.PickValueInArray(roles)}, {"content", "a <b> Ł\n"}};
        if (data.ConsumeBool()) message["content"] = nullptr;
        if (data.ConsumeBool()) message["tool_calls"] = {{{"function", {{"name", "f"}, {"arguments", {{"x", 1.5}}}}}}};
        messages.push_back(std::move(message));
    }
    Json variables = {{"messages", std::move(messages)}, {"bos_token", "<s>"}, {"n", 3}, {"tools", nullptr}};
    variables["add_generation_prompt"] = data.ConsumeBool();
    return variables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    FuzzedDataProvider data(bytes, size);
    const Json variables = conversation(data);
    try {
        const auto chat = toy::jinja::Template::compile("fuzz", data.ConsumeRemainingBytesAsString(), k_limits);
        const std::tm now = {};
        const auto first = chat.render(variables, now);
        if (first.text != chat.render(variables, now).text) std::abort();
        for (const auto& span : first.generation) {
            if (span.begin > span.end || span.end > first.text.size()) std::abort();
        }
    } catch (const toy::Error& error) {
        if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
    }
    return 0;
}
