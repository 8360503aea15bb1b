# Makefile - what a contributor types; meson and ninja do the work behind it
# SPDX-License-Identifier: BSD-3-Clause
BUILD ?= build
PREFIX ?= /usr/local
ARGS ?=
ONLY ?=
RUNS ?= 2000
SECONDS ?= 600

install_packages = test/support/install-packages
# Warnings are errors for those who work on it, not for a user whose compiler is newer than ours.
warnings = -Dwerror=true

.DEFAULT_GOAL := build
.PHONY: help build run check test tidy compliance coverage format bench bench-peers bench-nvmet plots interop sim fuzz model
.PHONY: analyze nic-test verbs-test mutants soak docs pages site install abi arm64 deb deb-test image-test clean
.PHONY: dist release-check packages-build packages-test

help:
	@echo 'make             build the library, the programs and the tests in $(BUILD)/'
	@echo 'make run         build and run the benchmark on loop ports, every byte checked (ARGS for other options)'
	@echo 'make check       the fast tests of all layers, in about a minute (ONLY=REGEX: some of them)'
	@echo 'make test        all tests except the long ones (ONLY=REGEX: some of them)'
	@echo 'make tidy        the coding rules: layers, lengths, format, language, clang'
	@echo 'make compliance  generate docs/contributing/compliance.md, rules.txt and pools.md: rules, code, tests, pools'
	@echo 'make coverage    branch coverage of the pure cores (ARGS=--missing: branches without a test)'
	@echo 'make format      format the C files with clang-format'
	@echo 'make bench       benchmarks as tables and JSON (ARGS="--only limit --only qps")'
	@echo 'make bench-peers compare with UCX, libfabric, iperf3, qperf; the target with tgt and nbdkit'
	@echo 'make bench-nvmet compare uroce-nvmet with the target of Linux, in a QEMU guest'
	@echo 'make plots       draw the last results of make bench into $(BUILD)/plots'
	@echo 'make interop     tests with the RDMA stack of Linux in a QEMU guest (FULL=1: the whole matrix)'
	@echo 'make verbs-test  unmodified verbs applications at both ends (FULL=1: with all options)'
	@echo 'make nic-test    emulated PCI NICs in QEMU, with Linux as the peer (FULL=1: the whole matrix)'
	@echo 'make install     install under PREFIX=$(PREFIX), below DESTDIR if given'
	@echo 'make abi         ABI against the baseline (ARGS=--renew: write a new baseline)'
	@echo 'make deb         Debian packages, in $(BUILD)-deb/'
	@echo 'make deb-test    build packages twice; install, use and purge them on a bare Debian, as root'
	@echo 'make arm64       build for arm64 on a bare Debian 13 and run its tests in an emulator, as root'
	@echo 'make image-test  build and run the container images of config/ without a container engine, as root'
	@echo 'make sim         the simulator: 10000 seeds, loss sweep, storms (RUNS=2000 seeds)'
	@echo 'make soak        long run in real time, with benchmarks over a bad link (SECONDS=600)'
	@echo 'make fuzz        libFuzzer on input of peers (ARGS="--only wire --seconds 60")'
	@echo 'make model       SPIN on a model of RC: safety and progress (ARGS="--faults 3")'
	@echo 'make analyze     clang'\''s static analyzer and cppcheck over lib/ and drivers/'
	@echo 'make mutants     mutation tests of the core (ARGS="--only loss.c")'
	@echo 'make site        the pages of README and docs/ as one static site, in $(BUILD)/site'
	@echo 'make pages       generate the pages reference, options, session and breakages'
	@echo 'make docs        the reference of the public headers, in $(BUILD)/docs/html'
	@echo 'make clean       remove build directories'
	@echo 'make dist        a reproducible source archive that builds without git, in $(BUILD)/'
	@echo 'make release-check  the list of a release, each point checked (ARGS=--quick: without the long ones)'
	@echo 'As root on Debian 12 or 13, each target installs the packages it needs and prints their names.'

packages-build:
	@$(install_packages) build
packages-test:
	@$(install_packages) build test

run: warnings =
$(BUILD)/build.ninja: | packages-build
	meson setup $(BUILD) $(warnings)

build: packages-build $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

run: packages-build $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet programs
	$(BUILD)/app/uroce-perf $(if $(ARGS),$(ARGS),--verify)

check: packages-test
	@test/support/run-tests --build $(BUILD) --fast $(if $(ONLY),--only '$(ONLY)') $(ARGS)

test: packages-test
	@test/support/run-tests --build $(BUILD) $(if $(ONLY),--only '$(ONLY)') $(ARGS)

tidy:
	@$(install_packages) build tidy
	@test/tidy/tidy --build $(BUILD) $(ARGS)

compliance:
	@$(install_packages) compliance
	@test/tidy/compliance --write $(ARGS)
	@test/tidy/pools --write

coverage:
	@$(install_packages) build coverage
	@test/support/coverage --build $(BUILD) $(ARGS)

format:
	@$(install_packages) format
	git ls-files -z '*.c' '*.h' | xargs -0 -r clang-format -i

bench: packages-build $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet programs test/perf/perf-self
	@test/perf/bench --build $(BUILD) $(ARGS)

bench-peers: packages-build $(BUILD)/build.ninja
	@$(install_packages) peers
	@ninja -C $(BUILD) --quiet programs
	@test/perf/peers --build $(BUILD) $(ARGS)
	@test/perf/disks --build $(BUILD)

bench-nvmet: packages-build $(BUILD)/build.ninja
	@$(install_packages) interop
	@ninja -C $(BUILD) --quiet programs
	@test/perf/kernel-nvmet --build $(BUILD) $(ARGS)

plots:
	@$(install_packages) plots
	@test/perf/plots --json $(BUILD)/bench.json --out $(BUILD)/plots $(ARGS)

interop: packages-build $(BUILD)/build.ninja
	@$(install_packages) interop || true  # the harness says what is missing, and skips
	@ninja -C $(BUILD) --quiet
	@test/interop/interop --build $(BUILD) $(if $(FULL),--full) $(if $(ONLY),--only '$(ONLY)') \
		$(if $(SPDK),--spdk '$(SPDK)') $(ARGS)

verbs-test: packages-build $(BUILD)/build.ninja
	@$(install_packages) verbs || true  # the harness says what is missing, and skips
	@ninja -C $(BUILD) --quiet
	@test/verbs/verbs --build $(BUILD) $(if $(FULL),--full) $(if $(ONLY),--only '$(ONLY)') $(ARGS)

nic-test: packages-build $(BUILD)/build.ninja
	@$(install_packages) interop || true  # the harness says what is missing, and skips
	@ninja -C $(BUILD) --quiet
	@test/nic/nic --build $(BUILD) $(if $(FULL),--full) $(if $(ONLY),--only '$(ONLY)') $(ARGS)

# An own build directory: the prefix is part of what is built, and users get an optimised build. Without dpkg-dev meson
# does not know Debian's folder of libraries, and takes lib64, where neither the linker nor pkg-config looks.
multiarch = $(shell gcc -print-multiarch 2>/dev/null)
install: packages-build
	@[ -f $(BUILD)-install/build.ninja ] || meson setup $(BUILD)-install --buildtype=release -Dtests=false
	meson configure $(BUILD)-install --prefix=$(abspath $(PREFIX)) $(multiarch:%=--libdir=lib/%)
	DESTDIR=$(DESTDIR) meson install -C $(BUILD)-install

abi: packages-build $(BUILD)/build.ninja
	@$(install_packages) abi
	@ninja -C $(BUILD) --quiet lib/liburoce.a drivers/liburoce_ports.a
	@test/abi/abi --build $(BUILD) $(ARGS)

deb:
	@$(install_packages) build deb
	@test/support/make-deb $(BUILD)-deb

deb-test:
	@$(install_packages) build deb deb-test
	@test/deb/deb $(BUILD)-deb-test $(ARGS)

arm64:
	@$(install_packages) bare
	@test/support/arm64 $(BUILD)-arm64

image-test:
	@$(install_packages) image-test
	@test/containers/containers $(if $(ONLY),--only '$(ONLY)') $(BUILD)-image-test

# More seeds than make test takes; each prints itself when it fails.
sim: packages-test $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet
	@test/sim/run --build $(BUILD) --storms $(RUNS) $(ARGS)

# In real time: one process that works the whole while, and cases over a bad link beside it.
soak: packages-test $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet app/uroce-perf app/uroce-testpmd
	@test/app/soak.py $(abspath $(BUILD)) $(SECONDS)

fuzz:
	@$(install_packages) build fuzz
	@test/fuzz/fuzz --build $(BUILD) $(ARGS)

analyze:
	@$(install_packages) build analyze
	@test/tidy/analyze $(ARGS)

model:
	@$(install_packages) model
	@test/model/model --build $(BUILD) $(ARGS)

mutants: packages-test
	@test/mutants/mutants $(ARGS)

pages: packages-build $(BUILD)/build.ninja
	@$(install_packages) monitor
	@ninja -C $(BUILD) --quiet programs
	docs/generate $(BUILD) reference session breakages

site:
	@$(install_packages) site
	@docs/site $(BUILD)/site
	@echo 'read $(BUILD)/site/index.html'

docs:
	@$(install_packages) docs
	@mkdir -p $(BUILD)/docs
	@{ cat docs/Doxyfile; echo 'OUTPUT_DIRECTORY = $(BUILD)/docs'; } | doxygen -
	@echo 'read $(BUILD)/docs/html/index.html'

dist:
	@test/support/make-dist $(BUILD)

release-check: packages-test
	@test/support/release-check $(ARGS)

clean:
	rm -rf --one-file-system $(BUILD) $(BUILD)-asan $(BUILD)-clang $(BUILD)-install $(BUILD)-coverage $(BUILD)-deb $(BUILD)-deb-test \
		$(BUILD)-image-test $(BUILD)-arm64
