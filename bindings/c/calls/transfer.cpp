#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

#include "core/error.h"
#include "core/log.h"
#include "handles.h"
#include "last_error.h"
#include "session.h"
#include "tensor/transfer.h"
#include "tinynn.h"

using namespace toy;
using namespace toy::capi;

namespace {

constexpr size_t k_piece = size_t{1} << 16;  // elements converted at once, about

void require_array(const void* data, size_t n) {
    if (data == nullptr && n > 0) bad_input("an array of {} elements is needed, not NULL", n);
}

void require_count(const Session& session, Tensor tensor, size_t n) {
    const int64_t elements = tensor.layout().elements();
    if (n > static_cast<size_t>(elements)) {
        bad_input("{} has {} elements, but {} were given or asked for", session.label(tensor), elements, n);
    }
}

// Elements that are converted together: whole rows of a type that stores blocks.
size_t unit_of(const Layout& layout) { return block_elements(layout.type) > 1 ? static_cast<size_t>(layout.ne[0]) : 1; }

size_t piece_of(size_t unit) { return std::max<size_t>(1, k_piece / unit) * unit; }

/// Writes the first n elements, converting from floats: value(i) gives element i.
template <class Value>
void write_reals(Session& session, Tensor tensor, size_t n, Value value) {
    session.require_writable(tensor);
    require_count(session, tensor, n);
    const Layout& layout = tensor.layout();
    if (!converts_to_f32(layout.type)) bad_input("{} takes no floats", session.label(tensor));
    const size_t unit = unit_of(layout);
    if (n % unit != 0) bad_input("{} takes whole rows of {}, not {} elements", session.label(tensor), unit, n);
    std::vector<float> piece;
    size_t offset = 0;
    for (size_t done = 0; done < n; done += piece.size()) {
        piece.resize(std::min(piece_of(unit), n - done));
        for (size_t i = 0; i < piece.size(); ++i) piece[i] = value(done + i);
        const size_t columns = unit > 1 ? unit : piece.size();
        const std::vector<uint8_t> bytes = from_f32(layout.type, piece, static_cast<int64_t>(columns));
        session.write(tensor, std::as_bytes(std::span(bytes)), offset);
        offset += bytes.size();
    }
}

template <class Value>
void write_integers(Session& session, Tensor tensor, size_t n, Value value) {
    session.require_writable(tensor);
    require_count(session, tensor, n);
    if (tensor.dtype() != DType::I32) bad_input("{} takes no integers", session.label(tensor));
    std::vector<int32_t> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = value(i);
    session.write(tensor, std::as_bytes(std::span(values)), 0);
}

/// Reads the first n elements: take(i, value) gets each, an int32_t of an i32 tensor, else a float.
template <class Take>
void read_elements(Session& session, Tensor tensor, size_t n, Take take) {
    const Tensor source = session.readable(tensor);
    require_count(session, tensor, n);
    if (source.dtype() == DType::I32) {
        const std::vector<int32_t> values = read_i32(source);
        for (size_t i = 0; i < n; ++i) take(i, values[i]);
        return;
    }
    if (!converts_to_f32(source.dtype())) bad_input("{} has no values to read", session.label(tensor));
    const auto columns = static_cast<size_t>(source.layout().ne[0]);
    const size_t rows_at_once = std::max<size_t>(1, k_piece / columns);
    for (size_t done = 0; done < n;) {
        const size_t rows_left = (n - done + columns - 1) / columns;
        const auto first = static_cast<int64_t>(done / columns);
        const auto count = static_cast<int64_t>(std::min(rows_at_once, rows_left));
        const std::vector<float> values = read_rows_f32(source, first, count);
        const size_t usable = std::min(values.size(), n - done);
        for (size_t i = 0; i < usable; ++i) take(done + i, values[i]);
        done += usable;
    }
}

size_t elements_of(Tensor tensor) { return static_cast<size_t>(tensor.layout().elements()); }

// The older library's answer, instead of a failure like the others, where a tensor does not fit the scratch.
constexpr int k_beyond_scratch = -2;

void warn_once(const std::string& text) {
    static std::atomic<bool> has_warned{false};
    if (!has_warned.exchange(true)) logging::warn("{}", text);
}

template <class Body>
int with_scratch(const char* function, void* session, void* t, Body body) {
    return answer(function, -1, [&] {
        const SessionInUse in_use(session);
        const Tensor tensor = tensor_of(t, *in_use);
        if (elements_of(tensor) > Session::k_scratch_cells) {
            const std::string text = fmt::format("{} has {} elements, but the scratch {}", in_use->label(tensor),
                                                 elements_of(tensor), Session::k_scratch_cells);
            set_last_error(function, text.c_str());
            warn_once(fmt::format("{}: {}", function, text));
            return k_beyond_scratch;
        }
        body(*in_use, tensor, in_use->scratch());
        return 0;
    });
}

}  // namespace

int tnn_upload_from_float_array(void* session, void* t, double* data, size_t n) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        require_array(data, n);
        write_reals(*in_use, tensor_of(t, *in_use), n, [&](size_t i) { return static_cast<float>(data[i]); });
    });
}

int tnn_upload_from_int_array(void* session, void* t, int64_t* data, size_t n) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        require_array(data, n);
        write_integers(*in_use, tensor_of(t, *in_use), n, [&](size_t i) {
            const auto value = static_cast<int32_t>(data[i]);
            if (value != data[i]) bad_input("element {} is {}, which does not fit an i32", i, data[i]);
            return value;
        });
    });
}

int tnn_upload_transposed_f64(void* session, void* t, double* data, int rows, int cols) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        const Tensor tensor = tensor_of(t, *in_use);
        const Layout& layout = tensor.layout();
        if (layout.ne[0] != rows || layout.ne[1] != cols || layout.elements() != int64_t{rows} * cols) {
            bad_input("{} rows of {} transposed have ne = [{}, {}], which {} has not", rows, cols, rows, cols,
                      in_use->label(tensor));
        }
        require_array(data, elements_of(tensor));
        const auto height = static_cast<size_t>(rows);
        const auto width = static_cast<size_t>(cols);
        write_reals(*in_use, tensor, elements_of(tensor),
                    [&](size_t i) { return static_cast<float>(data[i % height * width + i / height]); });
    });
}

int tnn_download_to_f64_array(void* session, void* t, double* out, size_t n) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        require_array(out, n);
        read_elements(*in_use, tensor_of(t, *in_use), n, [&](size_t i, auto value) { out[i] = value; });
    });
}

int tnn_embed_lookup_to_doubles(void* session, void* table, int row, double* out, int d) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        const Tensor tensor = tensor_of(table, *in_use);
        if (tensor.layout().ne[0] != d) bad_input("rows of {} do not have {} elements", in_use->label(tensor), d);
        require_array(out, static_cast<size_t>(d));
        const std::vector<float> values = read_rows_f32(in_use->readable(tensor), row, 1);
        std::copy(values.begin(), values.end(), out);
    });
}

int tnn_zero_tensor(void* session, void* t) {
    return status(__func__, [&] {
        const SessionInUse in_use(session);
        const Tensor tensor = tensor_of(t, *in_use);
        in_use->require_writable(tensor);
        // Zero bytes are zeros in every type.
        const std::vector<std::byte> zeros(std::min(tensor.layout().bytes(), k_piece));
        for (size_t done = 0; done < tensor.layout().bytes(); done += zeros.size()) {
            const size_t count = std::min(zeros.size(), tensor.layout().bytes() - done);
            in_use->write(tensor, std::span(zeros).first(count), done);
        }
    });
}

int tnn_upload(void* session, void* t) {
    return with_scratch(__func__, session, t, [](Session& in_use, Tensor tensor, std::span<uint32_t> cells) {
        const size_t n = elements_of(tensor);
        if (tensor.dtype() == DType::I32) {
            write_integers(in_use, tensor, n, [&](size_t i) { return std::bit_cast<int32_t>(cells[i]); });
        } else {
            write_reals(in_use, tensor, n, [&](size_t i) { return std::bit_cast<float>(cells[i]); });
        }
    });
}

int tnn_download(void* session, void* t) {
    return with_scratch(__func__, session, t, [](Session& in_use, Tensor tensor, std::span<uint32_t> cells) {
        read_elements(in_use, tensor, elements_of(tensor),
                      [&](size_t i, auto value) { cells[i] = std::bit_cast<uint32_t>(value); });
    });
}
