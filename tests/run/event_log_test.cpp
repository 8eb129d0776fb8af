#include "run/event_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "core/temp_folder.h"
#include "fake_trainer.h"
#include "run/event_reader.h"
#include "run/event_schema.h"
#include "support/sentence.h"

namespace toy {
namespace {

using Json = nlohmann::ordered_json;
constexpr double k_infinity = std::numeric_limits<double>::infinity();

std::vector<Event> all_of(EventReader& reader) {
    std::vector<Event> events;
    while (auto event = reader.next()) events.push_back(std::move(*event));
    return events;
}

const Json k_step = {{"loss", 2.5}, {"lr", 1e-3}, {"tokens", 512}, {"wall_us", 1000}};
const Json k_run_start = {
    {"schema", k_event_schema},
    {"started_at", "2026-12-01T00:00:00Z"},
    {"run_id", "x"},
    {"host", {{"name", "h"}, {"os", "linux"}, {"arch", "x86_64"}}},
    {"backend", {{"kind", "cpu"}}},
    {"model", {{"arch", "gpt2"}, {"name", "m"}, {"vocab", 5}, {"d_model", 4}, {"n_layers", 1}, {"anything", true}}},
    {"config", {{"context", 8}, {"steps", 4}, {"lr", 0.1}, {"seed", 1}, {"more", {1, 2}}}}};

/// An event of each row of the schema, with every field.
Json full_example(const std::vector<Field>& fields) {
    Json example = Json::object();
    for (const Field& field : fields) {
        switch (field.type) {
            case FieldType::text: example[field.name] = "a\n\"b\""; break;
            case FieldType::whole: example[field.name] = -3; break;
            case FieldType::real: example[field.name] = std::nan(""); break;
            case FieldType::boolean: example[field.name] = true; break;
            case FieldType::wholes: example[field.name] = {1, 2}; break;
            case FieldType::reals: example[field.name] = {1.5, k_infinity, -k_infinity}; break;
            case FieldType::matrix: example[field.name] = {{1.0, std::nan("")}, {2.0, 3.0}}; break;
            case FieldType::record: example[field.name] = full_example(field.members); break;
            case FieldType::open: example[field.name] = {{"x", {{"y", 1}}}}; break;
        }
    }
    return example;
}

// NaN is not equal to itself, so JSON values are compared as lines, where it is a word.
TEST(EventLog, EveryKindComesBackAsItWasWritten) {
    const TempFolder folder;
    std::vector<Json> written;
    {
        EventLog log(folder / "events.jsonl");
        for (const EventKind& kind : event_kinds()) {
            written.push_back(full_example(kind.fields));
            log.event(kind.name, 7, kind.phase, written.back());
        }
    }
    EventReader reader(folder / "events.jsonl");
    const std::vector<Event> read = all_of(reader);
    ASSERT_EQ(read.size(), written.size());
    EXPECT_EQ(reader.bad_lines(), 0u);
    for (size_t i = 0; i < read.size(); ++i) {
        EXPECT_EQ(read[i].kind, event_kinds()[i].name);
        EXPECT_EQ(read[i].phase, event_kinds()[i].phase);
        EXPECT_EQ(read[i].step, 7);
        Json fields = read[i].fields;
        for (const char* common : {"kind", "t", "step", "phase"}) fields.erase(common);
        EXPECT_EQ(to_json_line(fields), to_json_line(written[i])) << read[i].kind;
    }
}

TEST(EventLog, NumbersThatJsonLacksAreWordsAndComeBack) {
    const TempFolder folder;
    EventLog log(folder / "events.jsonl");
    Json step = k_step;
    for (double loss : {std::nan(""), k_infinity, -k_infinity}) {
        step["loss"] = loss;
        log.event("step", 1, Phase::train, step);
    }
    std::istringstream lines(read_file(folder / "events.jsonl"));
    for (std::string line; std::getline(lines, line);) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    EXPECT_NE(lines.str().find(R"("loss":"NaN")"), std::string::npos);
    EXPECT_NE(lines.str().find(R"("loss":"-Infinity")"), std::string::npos);
    EventReader reader(folder / "events.jsonl");
    EXPECT_TRUE(std::isnan(reader.next()->fields["loss"].get<double>()));
    EXPECT_EQ(reader.next()->fields["loss"].get<double>(), k_infinity);
    EXPECT_EQ(reader.next()->fields["loss"].get<double>(), -k_infinity);
}

TEST(EventLog, FloatsComeBackExactly) {
    const TempFolder folder;
    EventLog log(folder / "events.jsonl");
    Json step = k_step;
    const std::vector<double> losses = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, static_cast<double>(0.1f), -0.0};
    for (double loss : losses) {
        step["loss"] = loss;
        log.event("step", 1, Phase::train, step);
    }
    EventReader reader(folder / "events.jsonl");
    for (double loss : losses) EXPECT_EQ(reader.next()->fields["loss"].get<double>(), loss);
}

TEST(EventLog, RefusesWhatTheSchemaDoesNotKnow) {
    const TempFolder folder;
    EventLog log(folder / "events.jsonl");
    const auto said = [&](const std::string& kind, std::optional<int64_t> step, Phase phase, const Json& fields) {
        return sentence([&] { log.event(kind, step, phase, fields); });
    };
    const auto with = [](Json fields, const char* key, const Json& value) {
        fields[key] = value;
        return fields;
    };
    const auto without = [](Json fields, const char* key) {
        fields.erase(key);
        return fields;
    };
    EXPECT_NE(said("stepp", 1, Phase::train, k_step).find("no event of kind 'stepp'"), std::string::npos);
    EXPECT_NE(said("step", 1, Phase::serve, k_step).find("in phase 'serve'"), std::string::npos);
    EXPECT_NE(said("step", 1, Phase::train, with(k_step, "x", 1)).find("x is unknown"), std::string::npos);
    EXPECT_NE(said("step", 1, Phase::train, with(k_step, "loss", "2.5")).find("loss has to be a number"),
              std::string::npos);
    EXPECT_NE(said("step", 1, Phase::train, with(k_step, "loss", nullptr)).find("loss has"), std::string::npos);
    EXPECT_NE(said("step", 1, Phase::train, with(k_step, "tokens", 1.5)).find("tokens has to be a whole number"),
              std::string::npos);
    EXPECT_NE(said("step", 1, Phase::train, without(k_step, "lr")).find("lr is missing"), std::string::npos);
    EXPECT_NE(said("step", std::nullopt, Phase::train, k_step).find("step is missing"), std::string::npos);
    EXPECT_NE(said("step", 1, Phase::train, with(k_step, "t", 1)).find("t is no field of its own"), std::string::npos);
    EXPECT_NE(said("note", 1, Phase::none, Json(3)).find("text is missing"), std::string::npos);
    Json start = k_run_start;
    start["host"]["colour"] = "red";
    EXPECT_NE(said("run_start", std::nullopt, Phase::train, start).find("host.colour is unknown"), std::string::npos);
    EXPECT_EQ(read_file(folder / "events.jsonl"), "");
    log.event("run_start", std::nullopt, Phase::train, k_run_start);  // model and config take more than is named
}

TEST(EventLog, EachLineIsInTheFileAtOnceAndTimesNeverGoBack) {
    const TempFolder folder;
    double now = 50;
    EventLog log(folder / "events.jsonl", 0, 0, [&] { return now; });
    EventReader reader(folder / "events.jsonl");
    EXPECT_FALSE(reader.next());
    for (double next : {51.5, 51.25, 53.0}) {
        now = next;
        log.event("note", std::nullopt, Phase::none, {{"text", "x"}});
        const auto event = reader.next();
        ASSERT_TRUE(event);
        EXPECT_DOUBLE_EQ(event->t, next == 53.0 ? 3.0 : 1.5);
        EXPECT_FALSE(reader.next());
    }
}

TEST(EventLog, ThreadsDoNotMixLines) {
    const TempFolder folder;
    EventLog log(folder / "events.jsonl");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&log] {
            for (int step = 0; step < 100; ++step) log.event("step", step, Phase::train, k_step);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EventReader reader(folder / "events.jsonl");
    EXPECT_EQ(all_of(reader).size(), 400u);
    EXPECT_EQ(reader.bad_lines(), 0u);
}

TEST(EventLog, AFullDiskIsOneSentenceAndLeavesWholeLines) {
    const TempFolder folder;
    const int code = test::in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);  // a file size limit stands for the full disk
        const rlimit limit{1000, 1000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        EventLog log(folder / "events.jsonl");
        const std::string said = sentence([&] {
            for (int step = 0;; ++step) log.event("step", step, Phase::train, k_step);
        });
        if (said.find("events.jsonl: cannot be written: File too large") == std::string::npos) ::_exit(3);
    });
    EXPECT_EQ(code, 0);
    const std::string text = read_file(folder / "events.jsonl");
    EXPECT_GT(text.size(), 800u);
    EXPECT_EQ(text.back(), '\n');
    EventReader reader(folder / "events.jsonl");
    EXPECT_GT(all_of(reader).size(), 5u);
    EXPECT_FALSE(reader.has_half_line());
}

TEST(EventLog, SaysWhenItsFileWasDeleted) {
    const TempFolder folder;
    EventLog log(folder / "events.jsonl");
    log.flush();
    std::filesystem::remove(folder / "events.jsonl");
    EXPECT_NE(sentence([&] { log.flush(); }).find("was deleted while the run was writing it"), std::string::npos);
}

TEST(EventReader, SkipsAndCountsWhatItDoesNotUnderstand) {
    const TempFolder folder;
    const std::string good = R"({"kind":"note","t":1,"text":"x","later":1})";
    folder.file("events.jsonl", good + "\n" + "{broken\n" + "\n" + "[1]\n" + R"({"kind":"note","t":1})" + "\n" +
                                    R"({"kind":"future","t":1})" + "\n" + R"({"kind":"note","t":"1","text":"x"})" +
                                    "\n" + R"({"kind":"note","t":1,"phase":"sleep","text":"x"})" + "\n" +
                                    std::string(100000, '[') + "\n" + std::string("\xff\xfe\x00\n", 4) + good + "\n");
    EventReader reader(folder / "events.jsonl");
    EXPECT_EQ(all_of(reader).size(), 2u);
    EXPECT_EQ(reader.bad_lines(), 8u);
    EXPECT_EQ(reader.unknown_kinds(), 1u);
    EXPECT_FALSE(reader.has_half_line());
}

TEST(EventReader, ReadsAFileThatWasCutAnywhere) {
    const TempFolder folder;
    {
        EventLog log(folder / "events.jsonl");
        for (int step = 0; step < 5; ++step) log.event("step", step, Phase::train, k_step);
    }
    const std::string whole = read_file(folder / "events.jsonl");
    for (size_t size = 0; size <= whole.size(); ++size) {
        const auto path = folder.file("cut.jsonl", whole.substr(0, size));
        EventReader reader(path);
        const auto lines =
            static_cast<size_t>(std::count(whole.begin(), whole.begin() + static_cast<long>(size), '\n'));
        EXPECT_EQ(all_of(reader).size(), lines);
        EXPECT_EQ(reader.bad_lines(), 0u);
        EXPECT_EQ(reader.has_half_line(), size > 0 && whole[size - 1] != '\n');
        EXPECT_EQ(reader.offset(), whole.substr(0, size).rfind('\n') + 1);
    }
}

TEST(EventReader, TakesUpALineOnceItIsWhole) {
    const TempFolder folder;
    folder.file("events.jsonl", R"({"kind":"note",)");
    EventReader reader(folder / "events.jsonl");
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.has_half_line());
    std::ofstream(folder / "events.jsonl", std::ios::app) << R"("t":1,"text":"x"})"
                                                          << "\n";
    EXPECT_EQ(reader.next()->fields["text"], "x");
}

TEST(EventReader, RefusesAFileThatIsNotThere) {
    const TempFolder folder;
    EXPECT_NE(sentence([&] { EventReader reader(folder / "none"); }).find("none: cannot be opened"), std::string::npos);
}

}  // namespace
}  // namespace toy
