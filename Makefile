# toy's front door. `make help` lists the targets; docs/building.md tells more.
PRESET          ?= release
MODEL           ?=
SUITE           ?= fast
FUZZ_SECONDS    ?= 60
PREFIX          ?= /usr/local
DESTDIR         ?=
TOY_GGML_SOURCE ?=
BOOTSTRAP_FLAGS ?=

BOOTSTRAP = scripts/bootstrap.sh $(if $(TOY_GGML_SOURCE),--ggml-source "$(TOY_GGML_SOURCE)") $(BOOTSTRAP_FLAGS) --for
BUILD     = scripts/build.sh
GGML      = $(if $(TOY_GGML_SOURCE),"-DTOY_GGML_SOURCE=$(abspath $(TOY_GGML_SOURCE))")

# A small trained model that lies beside the checkout on the project's own machines.
STORIES    = ../shared/models/stories260K.gguf
DEMO_MODEL = $(or $(MODEL),$(wildcard $(STORIES)))

.PHONY: build demo test check lint bench oracle fuzz install clean help

build:
	@$(BOOTSTRAP) build
	@$(BUILD) $(PRESET) $(GGML)

demo:
	@[ -n "$(DEMO_MODEL)" ] || { echo "make demo needs a model to run: pass one as make demo MODEL=path/to/model.gguf." >&2; exit 2; }
	@[ -f "$(DEMO_MODEL)" ] || { echo "make demo: there is no file $(DEMO_MODEL); pass a model as make demo MODEL=path/to/model.gguf." >&2; exit 2; }
	@$(BOOTSTRAP) build
	@$(BUILD) release $(GGML)
	build/release/bin/toy infer "$(DEMO_MODEL)" --prompt "Once upon a time" --echo --n 200

test:
	@$(BOOTSTRAP) test
	@$(BUILD) release $(GGML)
	@ctest --preset release -j "$$(nproc)"

check:
	@$(BOOTSTRAP) test
	@$(BOOTSTRAP) lint
	@$(BOOTSTRAP) fuzz
	@scripts/check.sh $(SUITE)

lint:
	@$(BOOTSTRAP) lint
	@scripts/lint.sh

bench:
	@$(BOOTSTRAP) bench
	@$(BUILD) bench $(GGML)
	@scripts/run-benchmarks.sh

oracle:
	@$(BOOTSTRAP) oracle
	@$(BUILD) release $(GGML)
	@scripts/record-oracle.sh

fuzz:
	@$(BOOTSTRAP) fuzz
	@$(BUILD) fuzz $(GGML)
	@scripts/run-fuzzers.sh $(FUZZ_SECONDS)

install:
	@$(BOOTSTRAP) build
	@$(BUILD) release $(GGML)
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

# Keeps what was fetched (build/ggml-source, build/oracle).
clean:
	rm -rf build/release build/debug build/asan build/tsan build/bench build/fuzz build/lint

help:
	@echo "make                 build toy: build/release/bin/toy (PRESET=debug, asan, tsan: another build)"
	@echo "make demo            build it and let a model write a text (MODEL=path/to/model.gguf)"
	@echo "make test            build it and run the tests"
	@echo "make check           lint, the tests under the sanitizers, fuzzing (SUITE=all: slow tests too)"
	@echo "make lint            layers, budgets, formatting, clang 19 with clang-tidy"
	@echo "make bench           run the micro-benchmarks"
	@echo "make oracle          record what llama.cpp computes for the models of the tests (docs/oracle.md)"
	@echo "make fuzz            run each fuzz target (FUZZ_SECONDS=60)"
	@echo "make install         install below PREFIX=/usr/local (DESTDIR=...)"
	@echo "make clean           remove the builds"
	@echo "Everywhere: TOY_GGML_SOURCE=DIR takes ggml from there; BOOTSTRAP_FLAGS=--no-packages installs nothing."
