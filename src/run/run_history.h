#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace toy {

/// A number that a run reported at a step, `t` seconds after its beginning.
struct Scalar {
    int64_t step = 0;
    double t = 0;
    double value = 0;
};

/// What can be read of a run on disk, whoever wrote it and whether it goes on. Reading never fails: what is wrong
/// stands in `fault` and the counts.
struct RunHistory {
    std::filesystem::path folder;
    std::string id;
    /// completed, interrupted, aborted, errored (as run_end says); running; stopped (its process is gone without a
    /// run_end); damaged (it holds no record and no run_start that could be read, or a damaged record).
    std::string state = "damaged";
    std::string fault;                        ///< of a damaged run
    std::string error;                        ///< of an errored one
    std::string started_at;                   ///< ISO 8601
    std::string arch, model;                  ///< of run_start
    std::string compare_to;                   ///< the baseline that run_start names
    nlohmann::ordered_json start = nullptr;   ///< the whole run_start
    nlohmann::ordered_json record = nullptr;  ///< run.json, where there is a whole one
    int64_t steps = 0;                        ///< the last step
    int64_t tokens = 0;                       ///< trained on
    double seconds = 0;                       ///< the last event's time
    std::optional<double> loss;               ///< of the last step
    std::optional<double> validation_loss;    ///< of the last evaluation
    std::optional<double> best_validation_loss;
    int64_t best_step = 0;  ///< of that
    size_t bad_lines = 0, unknown_kinds = 0;
    bool has_half_line = false;
    std::vector<int64_t> checkpoints;  ///< their steps
    /// By tag: train/loss, train/lr, train/grad_norm, train/aux_loss, train/tokens_per_s; and for the evaluations of
    /// each name NAME/loss, NAME/ppl.
    std::map<std::string, std::vector<Scalar>> scalars;

    /// The tag of the loss of the evaluation that counts as validation, or "".
    std::string validation_tag() const;
};

/// Which evaluation counts as validation: the one named so, else the first in the alphabet; "" where there is none.
std::string validation_name(const std::vector<std::string>& evaluations);

RunHistory read_run(const std::filesystem::path& folder);

/// Every folder in `runs`, by name.
std::vector<RunHistory> read_runs(const std::filesystem::path& runs);

/// The folder of the run that a user names: a path (it has a '/' or is a folder that holds a run), an id in `runs`, or
/// the beginning of exactly one. Throws Error{bad_input} that tells what there is.
std::filesystem::path find_run(const std::string& word, const std::filesystem::path& runs);

/// How a run did against another, by the old toy's rule: the same where the losses are within 1 % of the baseline's.
struct RunComparison {
    std::string metric;  ///< the tag that both have: the validation loss, else the training loss
    double loss = 0, baseline_loss = 0;
    double loss_delta = 0;  ///< negative where the run is better
    double ppl_ratio = 0;   ///< exp(loss_delta)
    std::string verdict;    ///< ahead, behind, par; abort where a loss is no finite number
};
/// Nothing where the two have no loss in common.
std::optional<RunComparison> compare_runs(const RunHistory& run, const RunHistory& baseline);

}  // namespace toy
