# Draft front door; scripts/bootstrap.sh installs what is missing.
PRESET ?= release
.PHONY: build
build:
	cmake --preset $(PRESET) >/dev/null && cmake --build --preset $(PRESET)
