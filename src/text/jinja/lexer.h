#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toy::jinja {

class Run;

struct Token {
    enum class Type : uint8_t {
        data,            ///< text between tags
        block_begin,     ///< {%
        block_end,       ///< %}
        variable_begin,  ///< {{
        variable_end,    ///< }}
        name,
        string,
        integer,
        real,
        symbol,  ///< an operator or bracket
        end,
    };
    Type type = Type::end;
    std::string text;  ///< the data, the name, what a string literal means, the symbol
    int64_t integer = 0;
    double real = 0;
    int line = 1;
};

/// The tokens of a template, the last one being `end`. White space as Jinja2 treats it with trim_blocks and
/// lstrip_blocks, which is how chat templates are written: the line break after a block goes, and the indentation
/// before a block; "-" strips all white space on its side, "+" keeps it. The last line break of the source does not
/// count. Throws Error{bad_input} with the line.
std::vector<Token> tokenize(Run& run, std::string_view source);

}  // namespace toy::jinja
