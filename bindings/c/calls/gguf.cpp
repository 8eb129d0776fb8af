#include "io/gguf.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "handles.h"
#include "last_error.h"
#include "tinynn.h"

using namespace toy;
using namespace toy::capi;

namespace {

std::string_view text_of(const char* text, const char* what) {
    if (text == nullptr) bad_input("{} is needed, not NULL", what);
    return text;
}

// `gguf` keeps the tensor alive.
const GgufTensor& tensor_at(const Gguf& gguf, int index) {
    if (index < 0 || static_cast<size_t>(index) >= gguf.tensors().size()) {
        bad_input("{} has no tensor {}: there are {}", gguf.path().string(), index, gguf.tensors().size());
    }
    return gguf.tensors()[static_cast<size_t>(index)];
}

int to_int(int64_t value, std::string_view what) {
    if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
        bad_input("{} is {}, which does not fit an int", what, value);
    }
    return static_cast<int>(value);
}

const MappedFile& single_file(const Gguf& gguf) {
    if (gguf.parts().size() != 1) {
        bad_input("{} is split over {} files, which have no memory in common", gguf.path().string(),
                  gguf.parts().size());
    }
    return *gguf.parts().front();
}

}  // namespace

void* tnn_gguf_load(const char* path) {
    return answer(__func__, static_cast<void*>(nullptr),
                  [&] { return add_handle(std::make_shared<const Gguf>(Gguf::open(text_of(path, "a path")))); });
}

void tnn_gguf_free(void* gguf) {
    status(__func__, [&] { remove_gguf(gguf); });
}

int tnn_gguf_n_tensors(void* gguf) {
    return answer(__func__, 0, [&] { return static_cast<int>(gguf_of(gguf)->tensors().size()); });
}

int tnn_gguf_find_index(void* gguf, const char* name) {
    return answer(__func__, -1, [&] {
        const auto file = gguf_of(gguf);
        const GgufTensor* tensor = file->find(text_of(name, "a tensor's name"));
        if (tensor == nullptr) bad_input("{} has no tensor '{}'", file->path().string(), name);
        return static_cast<int>(tensor - file->tensors().data());
    });
}

const char* tnn_gguf_tensor_name(void* gguf, int index) {
    return answer(__func__, "", [&] {
        const auto file = gguf_of(gguf);
        return kept_text(tensor_at(*file, index).name);
    });
}

int tnn_gguf_tensor_type(void* gguf, int index) {
    return answer(__func__, -1, [&] {
        const auto file = gguf_of(gguf);
        return static_cast<int>(tensor_at(*file, index).type);
    });
}

int tnn_gguf_tensor_ne(void* gguf, int index, int axis) {
    return answer(__func__, -1, [&] {
        const auto file = gguf_of(gguf);
        const GgufTensor& tensor = tensor_at(*file, index);
        if (axis < 0 || axis > 3) bad_input("there is no axis {}", axis);
        return to_int(tensor.ne[static_cast<size_t>(axis)], "the length");
    });
}

size_t tnn_gguf_tensor_nbytes(void* gguf, int index) {
    return answer(__func__, size_t{0}, [&] {
        const auto file = gguf_of(gguf);
        return tensor_at(*file, index).bytes.size();
    });
}

int tnn_gguf_tensor_is_quantized(void* gguf, int index) {
    return answer(__func__, -1, [&] {
        const auto file = gguf_of(gguf);
        return is_quantized(tensor_at(*file, index).type) ? 1 : 0;
    });
}

void* tnn_gguf_mmap_base(void* gguf) {
    return answer(__func__, static_cast<void*>(nullptr), [&] {
        const auto file = gguf_of(gguf);
        // The mapping is read-only; the older interface's type is not.
        return static_cast<void*>(const_cast<std::byte*>(single_file(*file).bytes().data()));
    });
}

size_t tnn_gguf_mmap_size(void* gguf) {
    return answer(__func__, size_t{0}, [&] {
        const auto file = gguf_of(gguf);
        return single_file(*file).bytes().size();
    });
}

size_t tnn_gguf_tensor_file_offset(void* gguf, int index) {
    return answer(__func__, size_t{0}, [&] {
        const auto file = gguf_of(gguf);
        single_file(*file);
        return static_cast<size_t>(tensor_at(*file, index).offset);
    });
}

int tnn_gguf_read_f32_to_doubles(void* gguf, int index, double* out, size_t n) {
    return status(__func__, [&] {
        const auto file = gguf_of(gguf);
        const GgufTensor& tensor = tensor_at(*file, index);
        if (n > static_cast<size_t>(tensor.elements())) {
            bad_input("'{}' has {} elements, but {} were asked for", tensor.name, tensor.elements(), n);
        }
        if (out == nullptr && n > 0) bad_input("an array of {} elements is needed, not NULL", n);
        const auto columns = static_cast<size_t>(tensor.ne[0]);
        std::vector<float> row(columns);
        for (size_t done = 0; done < n; done += columns) {
            const size_t start = done / columns * row_bytes(tensor.type, tensor.ne[0]);
            to_f32(tensor.type, tensor.bytes.data() + start, row.data(), tensor.ne[0]);
            std::copy_n(row.begin(), std::min(columns, n - done), out + done);
        }
    });
}

namespace {

[[noreturn]] void no_key(const Gguf& gguf, const char* key) {
    bad_input("{} has no key '{}'", gguf.path().string(), key);
}

}  // namespace

int tnn_gguf_get_bool(void* gguf, const char* key) {
    return answer(__func__, 0, [&] {
        const auto file = gguf_of(gguf);
        const auto value = file->metadata().find_boolean(text_of(key, "a key"));
        if (!value) no_key(*file, key);
        return *value ? 1 : 0;
    });
}

int tnn_gguf_get_u32(void* gguf, const char* key) {
    return answer(__func__, 0, [&] {
        const auto file = gguf_of(gguf);
        const auto value = file->metadata().find_integer(text_of(key, "a key"));
        if (!value) no_key(*file, key);
        return to_int(*value, key);
    });
}

double tnn_gguf_get_f32(void* gguf, const char* key) {
    return answer(__func__, std::numeric_limits<double>::quiet_NaN(), [&] {
        const auto file = gguf_of(gguf);
        const auto value = file->metadata().find_real(text_of(key, "a key"));
        if (!value) no_key(*file, key);
        return *value;
    });
}

const char* tnn_gguf_get_str(void* gguf, const char* key) {
    return answer(__func__, "", [&] {
        const auto file = gguf_of(gguf);
        const std::string* value = file->metadata().find_string(text_of(key, "a key"));
        if (value == nullptr) no_key(*file, key);
        return kept_text(*value);
    });
}

int tnn_gguf_arr_n(void* gguf, const char* key) {
    return answer(__func__, 0, [&] {
        const auto file = gguf_of(gguf);
        const Value* value = file->metadata().find(text_of(key, "a key"));
        if (value == nullptr) no_key(*file, key);
        const Array* array = std::get_if<Array>(value);
        if (array == nullptr) bad_input("key '{}' of {} is no array", key, file->path().string());
        return to_int(static_cast<int64_t>(size_of(*array)), key);
    });
}

const char* tnn_gguf_arr_str(void* gguf, const char* key, int i) {
    return answer(__func__, "", [&] {
        const auto file = gguf_of(gguf);
        const std::vector<std::string>* values = file->metadata().find_strings(text_of(key, "a key"));
        if (values == nullptr) no_key(*file, key);
        if (i < 0 || static_cast<size_t>(i) >= values->size()) {
            bad_input("key '{}' of {} has {} strings, but number {} was asked for", key, file->path().string(),
                      values->size(), i);
        }
        return kept_text((*values)[static_cast<size_t>(i)]);
    });
}
