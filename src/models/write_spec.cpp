#include "models/write_spec.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "models/decoder.h"
#include "models/family.h"
#include "models/spec_fields.h"
#include "models/spec_rows.h"
#include "models/weights.h"

namespace toy {
namespace {

using When = SpecRow::When;

/// What a family would read, from keys and the names of the Spec's weights.
class Draft {
 public:
    Draft(const Spec& spec, const Family& family) : spec_(spec), family_(family) {
        spec_.architecture = family.architecture;
        Decoder decoder = make_decoder(spec);
        for (const WeightEntry& weight : weight_table(decoder)) {
            rows_[weight.name] = weight.shape.size() < 2 ? 1 : *(weight.shape.rbegin() + 1);
        }
        metadata_.set("general.architecture", std::string(family.architecture));
        if (!spec.name.empty()) metadata_.set("general.name", spec.name);
        for (SpecRow& row : spec_rows(spec)) {
            const std::string key = fmt::format("{}.{}", family.architecture, row.key);
            metadata_.set(key, std::move(row.value));
            when_[key] = row.when;
        }
    }

    /// The fields that the family reads as others than the Spec's, or why it reads nothing.
    std::vector<std::string> differences() {
        const SpecKeys keys(metadata_, [this](std::string_view name) {
            const auto found = rows_.find(name);
            return found == rows_.end() ? std::nullopt : std::optional(found->second);
        });
        try {
            const Spec read = family_.read(keys);
            asked_ = keys.asked();
            return differing_fields(read, spec_);
        } catch (const Error& error) {
            return {error.what()};
        }
    }

    /// The keys that belong in a file. Precondition: there are no differences.
    Metadata finish() {
        differences();
        for (const auto& [key, when] : when_) {
            if (when != When::always && !asked_.contains(key)) metadata_.erase(key);
        }
        for (const auto& [key, when] : when_) {
            if (when != When::needed || !metadata_.has(key)) continue;
            const Metadata all = metadata_;
            metadata_.erase(key);
            if (!differences().empty()) metadata_ = all;
        }
        return metadata_;
    }

 private:
    Spec spec_;
    const Family& family_;
    Metadata metadata_;
    std::map<std::string, int64_t, std::less<>> rows_;
    std::map<std::string, When> when_;
    std::set<std::string> asked_;
};

// Its own family first.
std::vector<const Family*> candidates(const Spec& spec) {
    std::vector<const Family*> all(families().begin(), families().end());
    std::stable_partition(all.begin(), all.end(),
                          [&](const Family* family) { return family->architecture == spec.architecture; });
    return all;
}

}  // namespace

std::vector<std::string> differing_fields(const Spec& a, const Spec& b) {
    std::vector<std::string> values, names;
    const auto text = [](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_enum_v<T>) {
            return fmt::format("{}", static_cast<int>(value));
        } else {
            return fmt::format("{}", value);
        }
    };
    for_each_field(a, [&](const std::string& name, const auto& value) {
        names.push_back(name);
        values.push_back(text(value));
    });
    std::vector<std::string> differing;
    size_t i = 0;
    for_each_field(b, [&](const std::string& name, const auto& value) {
        if (i < names.size() && names[i] == name && values[i] != text(value)) differing.push_back(name);
        ++i;
    });
    if (a.layer.size() != b.layer.size()) differing.emplace_back("layer");
    return differing;
}

Metadata write_spec(const Spec& spec) {
    if (spec.state_space.version == 2 && spec.state_space.groups < 1) {
        bad_input("the model has {} groups of state-space heads, which have to be 1 or more", spec.state_space.groups);
    }
    if (static_cast<int64_t>(spec.layer.size()) != spec.layers || spec.layers < 1) {
        bad_input("the model says that it has {} layers, but describes {}", spec.layers, spec.layer.size());
    }
    std::string nearest;
    size_t fewest = 0;
    for (const Family* family : candidates(spec)) {
        Draft draft(spec, *family);
        const std::vector<std::string> differing = draft.differences();
        if (differing.empty()) return draft.finish();
        const bool is_own = family->architecture == spec.architecture;
        if (nearest.empty() || (!is_own && spec.architecture.empty() && differing.size() < fewest)) {
            nearest = fmt::format("{} differs in {}", family->architecture, fmt::join(differing, ", "));
            fewest = differing.size();
        }
    }
    bad_input("no GGUF architecture describes this model: {}", nearest);
}

}  // namespace toy
