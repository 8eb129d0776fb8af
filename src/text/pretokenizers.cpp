#include "text/pretokenizers.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace toy {
namespace {

using enum SplitStep::Kind;
using Step = SplitStep;

// The rules are facts about models: where the pattern of a model's own tokenizer.json is known, it stands here;
// otherwise the one that llama.cpp gives for the name. docs/tokenizers.md lists where the two differ.

#define TOY_CONTRACTION R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define TOY_GPT2 R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"
#define TOY_TAIL R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define TOY_WORD R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define TOY_PUNCTUATED R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
// Words that begin with capitals, or are all capitals, each with a contraction: o200k.
#define TOY_CAPITALS R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
#define TOY_ALL_CAPITALS R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
#define TOY_SLASH_TAIL R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define TOY_O200K TOY_CAPITALS TOY_CONTRACTION "?|" TOY_ALL_CAPITALS TOY_CONTRACTION R"(?|\p{N}{1,3}|)" TOY_SLASH_TAIL

constexpr Step gpt2[] = {{pattern, TOY_GPT2}};
constexpr Step digits_gpt2[] = {{pattern, R"(\p{N})"}, {pattern, TOY_GPT2}};
constexpr Step llama3[] = {{pattern, TOY_CONTRACTION "|" TOY_WORD R"(|\p{N}{1,3}|)" TOY_TAIL}};
constexpr Step qwen2[] = {{pattern, TOY_CONTRACTION "|" TOY_WORD R"(|\p{N}|)" TOY_TAIL}};
constexpr Step ufakzeka[] = {{pattern, TOY_WORD R"(|\p{N}|)" TOY_TAIL}};
constexpr Step laguna[] = {{pattern, R"([^\n]+|\n+)"}, qwen2[0]};
constexpr Step minicpm5[] = {{pattern, R"(\p{N}{1,3})"},
                             {pattern, TOY_CONTRACTION "|" TOY_WORD R"(|\p{N}+|)" TOY_TAIL}};
constexpr Step qwen35[] = {{pattern,
                            TOY_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
                                            R"(\s*[\r\n]+|\s+(?!\S)|\s+)"}};
constexpr Step jais2[] = {{pattern, TOY_CONTRACTION
                           "|" TOY_WORD R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|)"
                           R"(\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|)"
                           R"(\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}};
constexpr Step seed_coder[] = {
    {pattern, TOY_CONTRACTION "|" TOY_WORD R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"}};
constexpr Step bailing[] = {{pattern, R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}|)"
                                      R"( ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}};
// Words joined by single spaces. Possessive: the groups would otherwise keep a way back for each of their rounds.
constexpr Step exaone_moe[] = {{pattern,
                                TOY_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}|)"
                                                R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}};
constexpr Step o200k[] = {{pattern, TOY_O200K}};
constexpr Step tiny_aya[] = {{thousands_at_word_end, {}}, {pattern, TOY_O200K}};
constexpr Step tekken[] = {{pattern, TOY_CAPITALS "|" TOY_ALL_CAPITALS R"(|\p{N}|)" TOY_SLASH_TAIL}};
// Han apart, the rest as o200k. PCRE2 10 cannot intersect classes: "letters and marks, not Han" is all that is left
// when the other categories and Han are excluded.
constexpr Step kimi_k2[] = {{pattern, R"(\p{Han}+|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]*)"
                                      R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]+)" TOY_CONTRACTION R"(?|)"
                                      R"([^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]+)"
                                      R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]*)" TOY_CONTRACTION
                                      R"(?|\p{N}{1,3}|)" TOY_TAIL}};
constexpr Step youtu[] = {
    {pattern,
     R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A})"
     R"(\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|)"
     R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"},
    {pattern, TOY_CAPITALS TOY_CONTRACTION "?|" TOY_ALL_CAPITALS TOY_CONTRACTION R"(?|\p{N}|)" TOY_SLASH_TAIL}};

constexpr Step deepseek3[] = {{pattern, R"(\p{N}{1,3})"},
                              {pattern, R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"},
                              {pattern, TOY_PUNCTUATED R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};
constexpr Step spark25[] = {deepseek3[0],
                            deepseek3[1],
                            {pattern, TOY_PUNCTUATED R"(| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)"},
                            {pattern, R"(\p{N})"}};
constexpr Step afmoe[] = {
    {thousands_after, {}},
    {pattern,
     R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{8C48}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F})"
     R"(\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F})"
     R"(\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)"},
    deepseek3[2]};
constexpr Step deepseek_coder[] = {{pattern, R"([\r\n])"},
                                   {pattern, R"(\s?\p{L}+)"},
                                   {pattern, R"(\s?\p{P}+)"},
                                   {pattern, R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)"},
                                   {pattern, R"(\p{N})"}};
// The long class: the cased letters of the Unicode version that the model's authors used.
constexpr Step deepseek_llm[] = {
    {pattern, R"([\r\n])"},
    {pattern,
     R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
     R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5})"
     R"(\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD})"
     R"(\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})"
     R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D})"
     R"(\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB})"
     R"(\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D})"
     R"(\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
     R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
     R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06})"
     R"(\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
     R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)"},
    {pattern, R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"},
    {pattern, R"(\s+$)"},
    deepseek_coder[3],
    {pattern, R"(\p{N}+)"}};

constexpr Step falcon[] = {{pattern, R"([\p{P}$+<=>^~|`]+)"}, gpt2[0], {pattern, R"([0-9][0-9][0-9])"}};
constexpr Step unnamed[] = {
    {pattern, R"([\p{P}$+<=>^~|]+)"}, gpt2[0], {pattern, R"(\p{N}+)"}, {pattern, R"([0-9][0-9][0-9])"}};
constexpr Step chameleon[] = {{pattern, R"(<sentinel:[0-9]+>)"},    {pattern, R"(IMGIMG[A-I]{1,4}Z)"},
                              {pattern, R"([\t\n]|    |  )"},       {pattern, R"(\p{N})"},
                              {pattern, R"([\p{P}!-/:-@\[-`{-~])"}, gpt2[0]};
constexpr Step bloom[] = {{pattern, R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)"}};
constexpr Step viking[] = {bloom[0], {pattern, R"(\p{N})"}};
constexpr Step superbpe[] = {{pattern, R"(\p{N}+)"}, {thousands, {}}};
constexpr Step lines[] = {laguna[0]};
constexpr Step non_space[] = {{pattern, R"(\S+)"}};

constexpr PreTokenizer llama3_named(std::string_view name) {
    return {.name = name, .steps = llama3, .ignore_merges = true, .add_bos = true};
}
constexpr PreTokenizer gemma_named(std::string_view name) {
    return {.name = name,
            .steps = lines,
            .characters = true,
            .escape_spaces = true,
            .whole_newline_runs = true,
            .always_bos = true};
}

constexpr PreTokenizer table[] = {
    {"default", unnamed},
    llama3_named("llama3"),
    llama3_named("llama-v3"),
    llama3_named("llama-bpe"),
    llama3_named("falcon3"),
    llama3_named("falcon-h1"),
    llama3_named("pixtral"),
    llama3_named("midm-2.0"),
    llama3_named("lfm2"),
    llama3_named("jina-v5-nano"),
    {"minicpm5", minicpm5, true},
    {"deepseek-llm", deepseek_llm},
    {"deepseek-coder", deepseek_coder},
    {"deepseek-v3", deepseek3},
    {"hunyuan-dense", deepseek3},
    {"joyai-llm", deepseek3},
    {"hy_v4", deepseek3},
    {"spark2_5", spark25},
    {"youtu", youtu, true},
    {"falcon", falcon},
    {"starcoder", digits_gpt2},
    {"refact", digits_gpt2},
    {"command-r", digits_gpt2},
    {"smollm", digits_gpt2},
    {"codeshell", digits_gpt2},
    {"exaone", digits_gpt2},
    {"minerva-7b", digits_gpt2},
    {"mellum2", digits_gpt2},
    {"mpt", gpt2},
    {"gpt-2", gpt2},
    {"phi-2", gpt2},
    {"olmo", gpt2},
    {"jais", gpt2},
    {"trillion", gpt2},
    {"granite-docling", gpt2},
    {"exaone4", gpt2},
    {"jina-es", gpt2},
    {"jina-de", gpt2},
    {"jina-v1-en", gpt2},
    {"jina-v2-es", gpt2},
    {"jina-v2-de", gpt2},
    {"jina-v2-code", gpt2},
    {"roberta-bpe", gpt2},
    {"gigachat", gpt2},
    {"a.x-4.0", gpt2},
    {"mellum", gpt2},
    {"modern-bert", gpt2},
    {"jais-2", jais2},
    gemma_named("gemma4"),
    gemma_named("granite-embed-multi-311m"),
    {.name = "sarvam-moe", .steps = lines, .characters = true, .escape_spaces = true},
    {.name = "whitespace", .steps = non_space, .characters = true},
    {"qwen2", qwen2},
    {"deepseek-r1-qwen", qwen2},
    {"kormo", qwen2},
    {"f2llmv2", qwen2},
    {"megrez", qwen2},
    {"stablelm2", qwen2},
    {"hunyuan", qwen2},
    {"solar-open", qwen2},
    {"grok-2", qwen2},
    {"qwen35", qwen35},
    {"dbrx", llama3},
    {"smaug-bpe", llama3},
    {"glm4", llama3},
    {"chatglm-bpe", llama3},
    {"poro-chat", bloom},
    {"bloom", bloom},
    {"gpt3-finnish", bloom},
    {"viking", viking},
    {"tekken", tekken, true, true},
    {"chameleon", chameleon, false, true},
    {"exaone-moe", exaone_moe},
    {"gpt-4o", o200k},
    {"llama4", o200k},
    {"kanana2", o200k},
    {"talkie", o200k},
    {"minimax-m2", o200k},
    {"granite-embed-multi-97m", o200k, true},
    {"tiny_aya", tiny_aya},
    {"cohere2moe", tiny_aya},
    {"superbpe", superbpe},
    {"bailingmoe", bailing},
    {"bailingmoe2", bailing},
    {"llada-moe", bailing},
    {"seed-coder", seed_coder},
    {"kimi-k2", kimi_k2},
    {"ufakzeka", ufakzeka},
    {"afmoe", afmoe},
    {"laguna", laguna},
};

}  // namespace

std::span<const PreTokenizer> all_pretokenizers() { return table; }

const PreTokenizer* find_pretokenizer(std::string_view name) {
    const auto found =
        std::find_if(std::begin(table), std::end(table), [&](const auto& entry) { return entry.name == name; });
    return found == std::end(table) ? nullptr : found;
}

}  // namespace toy
