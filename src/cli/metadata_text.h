#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "io/gguf.h"

namespace toy::cli {

/// A metadata value for people: strings quoted and cut, of an array its size and first elements.
std::string shown_value(const Value& value);
/// For programs: the value itself; of an array longer than 16 elements {count, type, first[]}.
nlohmann::ordered_json json_value(const Value& value);
/// A name of a file as it is, or quoted where a terminal should not see it so.
std::string shown_name(std::string_view name);
/// All tensors, those of equal shape and type in several blocks in one line: "blk.0-29.attn_q.weight".
std::string tensor_table(const Gguf& file);
/// Sizes in row-major order, as "[49152, 576]".
std::string shown_shape(const GgufTensor& tensor);

}  // namespace toy::cli
