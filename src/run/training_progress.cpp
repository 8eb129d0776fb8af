#include "run/training_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "run/axis.h"

namespace toy {
namespace {

constexpr double k_seconds_between_draws = 0.1, k_seconds_between_lines = 5.0;
constexpr std::string_view k_wipe = "\r\x1b[K";  // back to the line's begin, erase to its end (ECMA-48)

// What a model or a file wrote, as a terminal may see it.
std::string printable(std::string text) {
    for (char& c : text) {
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F) c = '?';
    }
    return text;
}

}  // namespace

TrainingProgress::TrainingProgress(int64_t total_steps, Progress::Screen screen)
    : total_(total_steps), screen_(std::move(screen)), begin_(screen_.seconds()) {}

TrainingProgress::~TrainingProgress() {
    if (is_new_ || is_visible_) show(true);
}

void TrainingProgress::event(std::string_view kind, std::optional<int64_t> step, Phase phase,
                             const nlohmann::ordered_json& fields) {
    if (kind == "step" && phase == Phase::train) {
        take_step(step.value_or(0), fields);
        show(false);
    } else if (kind == "eval" && phase != Phase::serve) {
        validation_ = fields["loss"].get<double>();
        is_new_ = has_step_;
    } else if (kind == "note") {
        say("note: " + printable(fields["text"]));
    } else if (kind == "sample") {
        say("sample: " + printable(fields["prompt"]) + printable(fields["text"]));
    }
}

void TrainingProgress::take_step(int64_t step, const nlohmann::ordered_json& fields) {
    if (!std::exchange(has_step_, true)) first_step_ = step;
    step_ = step;
    loss_ = fields["loss"].get<double>();
    lr_ = fields["lr"].get<double>();
    const auto grad_norm = fields.find("grad_norm");
    grad_norm_ = grad_norm == fields.end() ? std::nullopt : std::optional(grad_norm->get<double>());
    smooth_.add(loss_);
    tokens_.add(fields["tokens"].get<double>());
    wall_us_.add(fields["wall_us"].get<double>());
    is_new_ = true;
}

std::string TrainingProgress::line() const {
    // In order of importance: what does not fit on the terminal goes from the end, the time left last of all.
    std::vector<std::string> parts = {fmt::format("step {}/{}", step_, total_), fmt::format("loss {:.4f}", loss_),
                                      fmt::format("smoothed {:.4f}", smooth_.mean())};
    if (validation_) parts.push_back(fmt::format("validation {:.4f}", *validation_));
    if (wall_us_.mean() > 0) {
        parts.push_back(fmt::format("{} tokens/s", Axis::label(tokens_.mean() * 1e6 / wall_us_.mean())));
    }
    parts.push_back(fmt::format("lr {:.2e}", lr_));
    if (grad_norm_) parts.push_back(fmt::format("grad {:.3g}", *grad_norm_));
    const auto done = static_cast<double>(step_ - first_step_ + 1);
    const double left = (screen_.seconds() - begin_) / done * static_cast<double>(std::max<int64_t>(total_ - step_, 0));
    const std::string end = fmt::format("{} left", clock_text(left));
    // One column stays free: a terminal may wrap after the last one.
    const size_t room = screen_.is_terminal ? static_cast<size_t>(std::max(screen_.columns - 1, 0)) : 1000;
    std::string text = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
        if (text.size() + 2 + parts[i].size() + 2 + end.size() <= room) text += "  " + parts[i];
    }
    return (text + "  " + end).substr(0, room);
}

void TrainingProgress::show(bool is_last) {
    const double now = screen_.seconds();
    const double pause = screen_.is_terminal ? k_seconds_between_draws : k_seconds_between_lines;
    if (!is_last && now - last_shown_ < pause) return;
    if (!is_last || is_new_) {
        screen_.write(screen_.is_terminal ? std::string(k_wipe) + line() : line() + "\n");
        last_shown_ = now;
        is_visible_ = screen_.is_terminal;
    }
    is_new_ = false;
    if (is_last && is_visible_) {
        screen_.write("\n");
        is_visible_ = false;
    }
}

void TrainingProgress::clear() {
    if (is_visible_) screen_.write(k_wipe);
    is_visible_ = false;
}

void TrainingProgress::say(const std::string& text) {
    clear();
    screen_.write(text + "\n");
    last_shown_ = -1e9;  // the line comes back with the next step
}

}  // namespace toy
