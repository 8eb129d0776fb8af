#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/pretokenizers.h"

namespace toy {

/// A compiled pre-tokenizer. Safe to use from several threads at once.
class RegexSplit {
 public:
    explicit RegexSplit(std::span<const SplitStep> steps);
    ~RegexSplit();

    /// Cuts valid UTF-8 into words; together they are the text. Linear in its length.
    void split(std::string_view text, std::vector<std::string_view>& words) const;

 private:
    struct Pattern;
    struct Step {
        SplitStep::Kind kind;
        std::unique_ptr<const Pattern> pattern;
    };
    std::vector<Step> steps_;
};

}  // namespace toy
