#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/mapped_file.h"
#include "handles.h"
#include "tensor/transfer.h"

namespace toy::capi {

std::shared_ptr<Runner> shared_runner(const Device& device) {
    static std::mutex mutex;
    static std::map<std::string, std::shared_ptr<Runner>> runners;
    const std::scoped_lock lock(mutex);
    std::shared_ptr<Runner>& runner = runners[device.name()];
    if (runner == nullptr) runner = std::make_shared<Runner>(device);
    return runner;
}

Session::Session(std::shared_ptr<Runner> runner)
    : runner_(std::move(runner)), params_(runner_->device()), tape_(std::make_unique<Graph>()) {}

// ---- tensors and their handles ----

std::string Session::next_name(const char* kind) { return fmt::format("{}_{}", kind, named_++); }

void* Session::add_input(const Layout& layout) {
    require_room();
    return handle_of(tape_->input(next_name("input"), layout));
}

void* Session::add_persistent(const Layout& layout) { return handle_of(params_.add(next_name("persistent"), layout)); }

void* Session::add_mapped(const Layout& layout, size_t offset) {
    if (attached_.empty()) failure("no memory is attached: call tnn_session_attach_weight_mmap first");
    return handle_of(params_.map(next_name("mapped"), layout, attached_, offset, attached_owner_));
}

void Session::attach(const void* base, size_t size) {
    if (base == nullptr || size == 0) bad_input("memory of at least one byte is needed");
    const std::shared_ptr<const MappedFile> file = file_mapped_at(base);
    if (file != nullptr && size > file->bytes().size()) {
        bad_input("{} bytes were given, but {} has {}", size, file->path().string(), file->bytes().size());
    }
    attached_ = {static_cast<const std::byte*>(base), size};
    attached_owner_ = file;
}

Session::Key Session::key_of(Tensor tensor) const {
    return tensor.parameter() != nullptr ? static_cast<Key>(tensor.parameter()) : &tape_->node(tensor);
}

void* Session::handle_of(Tensor tensor) {
    if (tensor.parameter() == nullptr && tape_->node(tensor).kind == Node::Kind::parameter) {
        tensor = Tensor(tape_->node(tensor).parameter);  // a leaf of the tape is the persistent tensor itself
    }
    const Key key = key_of(tensor);
    const auto [entry, is_new] = handles_.try_emplace(key, nullptr);
    if (is_new) entry->second = add_handle(shared_from_this(), tensor);
    return entry->second;
}

Tensor Session::on_tape(Tensor tensor) { return tensor.parameter() != nullptr ? tape_->leaf(tensor) : tensor; }

void Session::forget_handles() noexcept {
    for (const auto& [key, handle] : handles_) remove_handle(handle);
    handles_.clear();
}

const std::string& Session::name_of(Tensor tensor) const {
    static const std::string k_none;
    const auto found = names_.find(key_of(tensor));
    return found == names_.end() ? k_none : found->second;
}

std::string Session::label(Tensor tensor) const {
    const std::string& name = name_of(tensor);
    const std::string layout = tensor.layout().describe();
    return name.empty() ? fmt::format("the tensor {}", layout) : fmt::format("'{}' ({})", name, layout);
}

// ---- graphs ----

void Session::require_room() const {
    if (tape_->nodes().size() < capacity_) return;
    failure("the graph has {} nodes already: call tnn_session_set_graph_capacity for more", tape_->nodes().size());
}

void Session::want_result(Tensor tensor) {
    const Tensor node = on_tape(tensor);
    tape_->output(node);
    graph(Which::a).want(node);
}

RealizedGraph::Fill Session::filler() {
    return [this](Tensor input, Tensor tape_input) {
        for (const RealizedGraph& other : graphs_) {
            const Tensor source = other.find(tape_input);
            if (!source) continue;
            std::vector<std::byte> bytes(source.layout().bytes());
            toy::read(source, bytes);
            return toy::write(input, bytes);
        }
        const auto early = early_values_.find(tape_input.node());
        if (early != early_values_.end()) toy::write(input, early->second);
    };
}

void Session::realize(Which which, Tensor result) {
    const Tensor node = on_tape(result);
    tape_->output(node);
    graph(which).realize(node, *tape_, device(), filler());
    selected_ = which;
}

void Session::compute(Which which) {
    graph(which).refresh(*tape_, device(), filler());
    graph(which).run(*runner_);
}

void Session::select(Which which) {
    if (!graph(which).is_wanted()) failure("graph {} is not realized yet", which == Which::a ? 'A' : 'B');
    selected_ = which;
}

std::vector<int32_t> Session::operations() {
    graph(selected_).refresh(*tape_, device(), filler());
    return graph(selected_).operations();
}

void Session::reset() {
    for (RealizedGraph& realized : graphs_) realized = {};
    for (size_t i = 0; i < tape_->nodes().size(); ++i) {
        const Key key = &tape_->nodes()[i];
        names_.erase(key);
        const auto found = handles_.find(key);
        if (found == handles_.end()) continue;
        remove_handle(found->second);
        handles_.erase(found);
    }
    early_values_.clear();
    tape_ = std::make_unique<Graph>();
    selected_ = Which::a;
}

// ---- values ----

void Session::require_writable(Tensor tensor) const {
    if (const Parameter* parameter = tensor.parameter()) {
        if (parameter->read_only) bad_input("{} lies in a mapped file and cannot be written", label(tensor));
        if (parameter->storage == nullptr) {
            failure("{} has no memory yet: call tnn_finalize_weights first", label(tensor));
        }
    } else if (tape_->node(tensor).kind != Node::Kind::input) {
        bad_input("{} is computed: only inputs and persistent tensors can be written", label(tensor));
    }
}

void Session::write(Tensor tensor, std::span<const std::byte> bytes, size_t offset) {
    if (tensor.parameter() != nullptr) return toy::write(tensor, bytes, offset);
    bool is_placed = false;
    for (const RealizedGraph& realized : graphs_) {
        const Tensor input = realized.find(tensor);
        if (!input) continue;
        toy::write(input, bytes, offset);
        is_placed = true;
    }
    if (is_placed) return;
    std::vector<std::byte>& early = early_values_[tensor.node()];
    early.resize(tensor.layout().bytes());
    std::copy(bytes.begin(), bytes.end(), early.begin() + static_cast<ptrdiff_t>(offset));
}

Tensor Session::readable(Tensor tensor) {
    if (tensor.parameter() != nullptr) {
        if (tensor.storage() == nullptr)
            failure("{} has no memory yet: call tnn_finalize_weights first", label(tensor));
        return tensor;
    }
    const RealizedGraph* realized = &graph(selected_);
    if (!realized->find(tensor)) realized = &graph(selected_ == Which::a ? Which::b : Which::a);
    const Tensor node = realized->find(tensor);
    if (!node) failure("{} belongs to no realized graph", label(tensor));
    const bool is_input = tape_->node(tensor).kind == Node::Kind::input;
    if (!is_input && !realized->has_run()) failure("{} has no values yet: compute its graph first", label(tensor));
    if (!realized->keeps(node)) {
        failure("{} keeps no values after a run: call tnn_set_output before its graph is realized", label(tensor));
    }
    return node;
}

std::span<uint32_t> Session::scratch() {
    if (scratch_.empty()) scratch_.resize(k_scratch_cells);
    return scratch_;
}

}  // namespace toy::capi
