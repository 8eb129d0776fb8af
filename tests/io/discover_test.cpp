#include "io/discover.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/temp_folder.h"
#include "io/gguf_writer.h"
#include "io/model_file.h"

namespace toy {
namespace {

namespace fs = std::filesystem;

const std::string k_hex(64, 'a');

/// A home folder and a working folder that tests fill.
class Discover : public testing::Test {
 protected:
    Discover() {
        places_.home = folder_ / "home";
        places_.working_folder = folder_ / "work";
    }

    fs::path model(const std::string& name, const std::string& family = "llama", DType type = DType::F32) {
        return write(name, GgufWriter().set("general.architecture", family).add_f32("w", type, {32, 2}, k_values));
    }
    fs::path write(const std::string& name, const GgufWriter& writer) {
        fs::create_directories((folder_ / name).parent_path());
        writer.write(folder_ / name);
        return folder_ / name;
    }
    fs::path link(const fs::path& target, const std::string& name) {
        fs::create_directories((folder_ / name).parent_path());
        fs::create_symlink(target, folder_ / name);
        return folder_ / name;
    }
    fs::path manifest(const std::string& name, const std::string& digest,
                      const std::string& type = "application/vnd.ollama.image.model") {
        return folder_.file("home/.ollama/models/manifests/" + name,
                            R"({"schemaVersion": 2, "layers": [
                                {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:00", "size": 1},
                                {"mediaType": ")" +
                                type + R"(", "digest": ")" + digest + R"(", "size": 1}]})");
    }

    /// "source:name" of all models found, in order.
    std::vector<std::string> names() {
        std::vector<std::string> found;
        for (const FoundModel& each : discover(places_).models) found.push_back(each.source + ":" + each.name);
        return found;
    }
    /// The reason why a file is skipped, or "" where it is not.
    std::string reason(const fs::path& path) {
        for (const SkippedFile& file : discover(places_).skipped) {
            if (file.path == path) return file.reason;
        }
        return "";
    }
    std::string refusal(const std::string& name) {
        try {
            return "resolved to " + resolve_model(name, places_).native();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), Error::Kind::bad_input);
            return error.what();
        }
    }

    static inline const std::vector<float> k_values = std::vector<float>(64, 1.0F);
    TempFolder folder_;
    ModelPlaces places_;
};

TEST_F(Discover, NothingAnywhereIsNoError) {
    const Discovery found = discover(places_);
    EXPECT_TRUE(found.models.empty());
    EXPECT_TRUE(found.skipped.empty());
    ASSERT_FALSE(found.sources.empty());
    for (const ModelSource& source : found.sources) EXPECT_FALSE(source.exists) << source.folder;
    EXPECT_TRUE(discover({}).sources.empty());
}

TEST_F(Discover, SearchesEveryPlaceInOrder) {
    places_.toy_model_dir = folder_ / "own";
    places_.ollama_service = folder_ / "service";
    model("own/first.gguf");
    model("work/data/second.gguf");
    model("work/models/deep/er/third.gguf");
    model("home/.cache/huggingface/hub/models--org--m/snapshots/abc/fourth.gguf");
    model("home/.ollama/models/blobs/sha256-" + k_hex);
    manifest("registry.ollama.ai/library/fifth/latest", "sha256:" + k_hex);
    model("home/.lmstudio/models/publisher/m/sixth.gguf");
    model("home/.cache/lm-studio/models/publisher/m/seventh.gguf");
    model("home/.cache/llama.cpp/eighth.gguf");
    model("home/models/ninth.gguf");
    model("home/elsewhere/never.gguf");
    const std::vector<std::string> expected = {"local:first",      "local:second",        "local:third",
                                               "hf:fourth",        "ollama:fifth:latest", "lmstudio:sixth",
                                               "lmstudio:seventh", "llamacpp:eighth",     "local:ninth"};
    EXPECT_EQ(names(), expected);
}

TEST_F(Discover, VariablesMoveThePlaces) {
    places_.hf_home = folder_ / "hf";
    places_.xdg_cache_home = folder_ / "cache";
    places_.ollama_models = folder_ / "ollama";
    model("hf/hub/models--o--m/snapshots/1/a.gguf");
    model("cache/llama.cpp/b.gguf");
    model("ollama/blobs/sha256-" + k_hex);
    fs::create_directories(folder_ / "home/.ollama");
    manifest("registry.ollama.ai/library/c/1b", "sha256:" + k_hex);
    fs::rename(folder_ / "home/.ollama/models/manifests", folder_ / "ollama/manifests");
    EXPECT_EQ(names(), (std::vector<std::string>{"hf:a", "ollama:c:1b", "llamacpp:b"}));
    places_.hf_hub_cache = folder_ / "hub";
    places_.llama_cache = folder_ / "llama";
    model("hub/models--o--m/snapshots/1/d.gguf");
    model("llama/e.gguf");
    EXPECT_EQ(names(), (std::vector<std::string>{"hf:d", "ollama:c:1b", "llamacpp:e"}));
}

TEST_F(Discover, RecordsWhatTheFileSays) {
    GgufWriter writer;
    writer.set("general.architecture", "qwen3").set("general.file_type", uint32_t{15});
    writer.add("a", DType::Q4_K, {256, 3}, [](const auto& write) { write(std::vector<std::byte>(3 * 144)); });
    writer.add_f32("b", DType::F32, {7}, std::vector<float>(7));
    const auto path = write("work/models/m.gguf", writer);
    const FoundModel found = discover(places_).models.at(0);
    EXPECT_EQ(found.name, "m");
    EXPECT_EQ(found.path, path);
    EXPECT_EQ(found.family, "qwen3");
    EXPECT_EQ(found.n_params, 256 * 3 + 7);
    EXPECT_EQ(found.type, "Q4_K_M");
    EXPECT_EQ(found.size_b, fs::file_size(path));
    EXPECT_EQ(found.source, "local");
}

TEST_F(Discover, TheTypeIsThatOfMostElementsWhereTheKeyIsAbsentOrWrong) {
    model("work/models/absent.gguf", "llama", DType::Q8_0);
    write("work/models/wrong.gguf", GgufWriter()
                                        .set("general.architecture", "llama")
                                        .set("general.file_type", uint32_t{1})
                                        .add_f32("w", DType::BF16, {64}, k_values));
    write("work/models/unknown.gguf", GgufWriter()
                                          .set("general.architecture", "llama")
                                          .set("general.file_type", uint32_t{1024})
                                          .add_f32("w", DType::F16, {64}, k_values));
    std::vector<std::string> types;
    for (const FoundModel& each : discover(places_).models) types.push_back(each.name + " " + each.type);
    EXPECT_EQ(types, (std::vector<std::string>{"absent Q8_0", "unknown F16", "wrong BF16"}));
}

TEST_F(Discover, ASplitModelCountsOnce) {
    for (uint16_t number = 0; number < 2; ++number) {
        write(fmt::format("work/models/big-{:05}-of-00002.gguf", number + 1),
              GgufWriter()
                  .set("general.architecture", "llama")
                  .set("split.no", number)
                  .set("split.count", uint16_t{2})
                  .set("split.tensors.count", int32_t{2})
                  .add_f32("t" + std::to_string(number), DType::F32, {64}, k_values));
    }
    const Discovery found = discover(places_);
    ASSERT_EQ(found.models.size(), 1U);
    EXPECT_EQ(found.models[0].name, "big");
    EXPECT_EQ(found.models[0].n_params, 128);
    EXPECT_EQ(found.models[0].path.filename(), "big-00001-of-00002.gguf");
    EXPECT_EQ(refusal("big"), "resolved to " + (folder_ / "work/models/big-00001-of-00002.gguf").native());

    fs::remove(folder_ / "work/models/big-00001-of-00002.gguf");
    EXPECT_TRUE(discover(places_).models.empty());
    EXPECT_NE(reason(folder_ / "work/models/big-00002-of-00002.gguf").find("part 1 of 2"), std::string::npos);
}

TEST_F(Discover, WhatIsNoModelIsSkippedAndNotBroken) {
    const auto tensor = [](GgufWriter writer) { return writer.add_f32("w", DType::F32, {64}, k_values); };
    const std::pair<const char*, GgufWriter> files[] = {
        {"vocabulary", GgufWriter().set("general.architecture", "llama")},
        {"adapter", tensor(GgufWriter().set("general.architecture", "llama").set("general.type", "adapter"))},
        {"old-adapter", tensor(GgufWriter().set("general.architecture", "llama").set("adapter.type", "lora"))},
        {"mmproj", tensor(GgufWriter().set("general.architecture", "clip"))},
        {"mmproj-typed", tensor(GgufWriter().set("general.architecture", "x").set("general.type", "mmproj"))},
        {"imatrix", tensor(GgufWriter().set("general.type", "imatrix"))},
        {"control", tensor(GgufWriter().set("general.architecture", "controlvector"))},
        {"nameless", tensor(GgufWriter())},
        {"odd", tensor(GgufWriter().set("general.architecture", uint32_t{1}))},
    };
    for (const auto& [name, writer] : files) write(std::string("work/models/") + name + ".gguf", writer);
    const Discovery found = discover(places_);
    EXPECT_TRUE(found.models.empty());
    ASSERT_EQ(found.skipped.size(), std::size(files));
    for (const SkippedFile& file : found.skipped) {
        EXPECT_FALSE(file.broken) << file.reason;
        EXPECT_TRUE(file.reason.starts_with(file.path.native() + ": ")) << file.reason;
    }
    EXPECT_NE(reason(folder_ / "work/models/vocabulary.gguf").find("has no tensors"), std::string::npos);
    EXPECT_NE(reason(folder_ / "work/models/adapter.gguf").find("is an adapter"), std::string::npos);
}

TEST_F(Discover, BrokenFilesAreSkippedWithTheirSentence) {
    model("work/models/good.gguf");
    const auto bad = folder_.file("work/models/bad.gguf", "GGUF and then nothing of sense");
    const auto cut = model("work/models/cut.gguf");
    fs::resize_file(cut, fs::file_size(cut) - 64);
    const auto dangling = link("nowhere.gguf", "work/models/dangling.gguf");
    folder_.file("work/models/notes.txt", "no model");
    EXPECT_EQ(names(), std::vector<std::string>{"local:good"});
    EXPECT_NE(reason(bad).find("has GGUF version"), std::string::npos) << reason(bad);
    EXPECT_NE(reason(cut).find("ends beyond the file"), std::string::npos) << reason(cut);
    EXPECT_NE(reason(dangling).find("is a link to a file that is not there"), std::string::npos);
    for (const SkippedFile& file : discover(places_).skipped) EXPECT_TRUE(file.broken);
    EXPECT_EQ(discover(places_).skipped.size(), 3U);
}

TEST_F(Discover, LinksLeadToOneModelOnce) {
    const std::string hub = "home/.cache/huggingface/hub/models--o--m/";
    model(hub + "blobs/0123");
    link("../../blobs/0123", hub + "snapshots/1/m.gguf");
    link("../../blobs/0123", hub + "snapshots/2/m.gguf");
    link(folder_ / (hub + "snapshots/1/m.gguf"), "work/data/m.gguf");
    folder_.file(hub + ".no_exist/1/absent.gguf", "");
    EXPECT_EQ(names(), std::vector<std::string>{"local:m"});
    places_.toy_model_dir = folder_ / "work/data";  // the same folder twice
    EXPECT_EQ(names(), std::vector<std::string>{"local:m"});
}

TEST_F(Discover, LoopsAndDepthsEnd) {
    model("work/models/a/m.gguf");
    link("..", "work/models/a/up");
    link(folder_ / "work", "work/models/a/b/work");
    link("self", "work/models/self");
    EXPECT_EQ(names(), std::vector<std::string>{"local:m"});
    EXPECT_TRUE(discover(places_).skipped.empty());  // no folder was visited again and again, down to the limit
    std::string deep = "work/models";
    for (int i = 0; i < 12; ++i) deep += "/" + std::to_string(i);
    model(deep + "/deep.gguf");
    EXPECT_EQ(names(), std::vector<std::string>{"local:m"});
    EXPECT_NE(reason(folder_ / "work/models/0/1/2/3/4/5/6/7/8").find("it lies too deep"), std::string::npos);
}

TEST_F(Discover, AFolderThatMayNotBeReadIsSkipped) {
    if (::geteuid() == 0) GTEST_SKIP() << "the superuser may read everything";
    model("work/models/good.gguf");
    fs::create_directories(folder_ / "work/models/closed");
    fs::permissions(folder_ / "work/models/closed", fs::perms::none);
    EXPECT_EQ(names(), std::vector<std::string>{"local:good"});
    EXPECT_NE(reason(folder_ / "work/models/closed").find("cannot be searched"), std::string::npos);
    fs::permissions(folder_ / "work/models/closed", fs::perms::owner_all);
}

TEST_F(Discover, OllamaNamesFollowItsPaths) {
    const auto blob = model("home/.ollama/models/blobs/sha256-" + k_hex);
    manifest("registry.ollama.ai/library/llama3/8b", "sha256:" + k_hex);
    manifest("registry.ollama.ai/library/llama3/latest", "sha256-" + k_hex);  // two tags of one blob are two names
    manifest("registry.ollama.ai/someone/mine/latest", "sha256:" + k_hex);
    manifest("hf.co/org/m-GGUF/Q4_K_M", "sha256:" + k_hex);
    folder_.file("home/.ollama/models/manifests/stray", "{}");
    EXPECT_EQ(names(), (std::vector<std::string>{"ollama:hf.co/org/m-GGUF:Q4_K_M", "ollama:llama3:8b",
                                                 "ollama:llama3:latest", "ollama:someone/mine:latest"}));
    for (const char* name : {"llama3", "llama3:latest", "llama3:8b", "someone/mine", "hf.co/org/m-GGUF:Q4_K_M"}) {
        EXPECT_EQ(refusal(name), "resolved to " + blob.native());
    }
    EXPECT_NE(refusal("llama3:70b").find("no model has this name"), std::string::npos);
}

TEST_F(Discover, UntrustedManifestsAreSkippedWithASentence) {
    model("home/.ollama/models/blobs/sha256-" + k_hex);
    model("home/secret.gguf");
    const std::string root = "home/.ollama/models/manifests/registry.ollama.ai/library/";
    const auto at = [&](const std::string& name) { return folder_ / (root + name + "/latest"); };
    manifest("registry.ollama.ai/library/climbs/latest", "sha256:../../../../secret.gguf");
    manifest("registry.ollama.ai/library/short/latest", "sha256:aa");
    manifest("registry.ollama.ai/library/capital/latest", "sha256:" + std::string(64, 'A'));
    manifest("registry.ollama.ai/library/missing/latest", "sha256:" + std::string(64, 'b'));
    manifest("registry.ollama.ai/library/other/latest", "sha256:" + k_hex, "application/vnd.ollama.image.tensor");
    folder_.file(root + "text/latest", "not json");
    folder_.file(root + "list/latest", "[1, 2]");
    folder_.file(root + "layers/latest", R"({"layers": {"a": 1}})");
    folder_.file(root + "types/latest", R"({"layers": [1, null, {"mediaType": 5}, {"digest": []}]})");
    folder_.file(root + "huge/latest", std::string(2 << 20, ' '));
    folder_.file(root + "deep/latest", std::string(100000, '['));
    const Discovery found = discover(places_);
    EXPECT_TRUE(found.models.empty());
    EXPECT_EQ(found.skipped.size(), 11U);
    for (const char* name : {"climbs", "short", "capital"}) {
        EXPECT_NE(reason(at(name)).find("has the malformed digest"), std::string::npos) << name;
    }
    EXPECT_NE(reason(at("missing")).find("is missing"), std::string::npos);
    EXPECT_NE(reason(at("huge")).find("more than 1048576 bytes"), std::string::npos);
    for (const char* name : {"text", "list", "deep"}) {
        EXPECT_NE(reason(at(name)).find("not a JSON object"), std::string::npos) << name;
    }
    for (const char* name : {"other", "layers", "types"}) {
        EXPECT_NE(reason(at(name)).find("is not stored as GGUF"), std::string::npos) << name;
    }
}

TEST_F(Discover, ResolvesPathsAndNames) {
    const auto path = model("work/models/sub/my-model.Q4_K_M.gguf");
    for (const std::string& given :
         {path.native(), std::string("my-model.Q4_K_M"), std::string("my-model.Q4_K_M.gguf")}) {
        EXPECT_EQ(refusal(given), "resolved to " + path.native());
    }
    EXPECT_EQ(
        refusal("MY-MODEL.Q4_K_M"),
        "'MY-MODEL.Q4_K_M': no such file, and no model has this name; `toy list` shows the models that are found");
    EXPECT_NE(refusal(folder_.path().native()).find("is a folder"), std::string::npos);
    EXPECT_NE(refusal("").find("no model is named"), std::string::npos);
    folder_.file("work/models/broken.gguf", "x");  // resolved all the same: opening it then says what is wrong
    EXPECT_NE(refusal("broken").find("resolved to"), std::string::npos);
}

TEST_F(Discover, AnAmbiguousNameListsTheCandidates) {
    const auto one = model("work/models/m.gguf");
    const auto two = model("home/models/m.gguf");
    EXPECT_EQ(refusal("m"), "'m' may be any of 2 models, so give a path: " + one.native() + ", " + two.native());
    for (int i = 0; i < 10; ++i) model("home/models/" + std::to_string(i) + "/m.gguf");
    EXPECT_NE(refusal("m").find("any of 12 models"), std::string::npos);
    EXPECT_TRUE(refusal("m").ends_with(", …"));
}

TEST(ModelPlaces, ComeFromTheEnvironment) {
    const ModelPlaces places = ModelPlaces::from_environment();
    EXPECT_EQ(places.working_folder, fs::current_path());
    EXPECT_EQ(places.ollama_service, "/usr/share/ollama/.ollama/models");
}

}  // namespace
}  // namespace toy
