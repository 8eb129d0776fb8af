#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/metadata.h"
#include "text/tokenizer.h"

namespace toy::test {

/// tests/text/fixtures/<name>.json, as oracle/record.py wrote it.
nlohmann::json fixture(std::string_view name);
/// The texts that the fixtures are about.
const std::vector<std::string>& fixture_texts();

/// The 32-bit FNV-1a hash of bytes, and of ids as little-endian int32.
uint32_t fnv1a(std::string_view bytes);
std::string digest(const std::vector<int32_t>& ids);

/// Byte-level BPE over a vocabulary that shows where a text is cut: all pairs of bytes merge, in a scattered order
/// (oracle/synthetic.py makes the same).
Metadata all_pairs_metadata();

/// Compares encodings of all texts with a fixture's hashes; each text that differs is one failure with our ids.
void expect_encodings(const Tokenizer& tokenizer, std::string_view expected, Tokenizer::EncodeOptions options,
                      std::string_view what, const std::function<bool(std::string_view)>& is_excused = {});

}  // namespace toy::test
