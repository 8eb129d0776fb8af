#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "io/metadata.h"
#include "text/tokenizer.h"

namespace toy::test {

/// The metadata of ggml-vocab-<name>.gguf, read once.
const Metadata& vocabulary_metadata(std::string_view name);
/// Its tokenizer, made once.
const Tokenizer& vocabulary(std::string_view name);
std::string read_file(const std::string& path);

}  // namespace toy::test
