# The front door. `make demo` and `make test` work on a fresh Debian 12 with only git and make.
# Variables: PRESET (release, debug, asan, asan-light, cuda), CMAKE_ARGS, CTEST_ARGS.

PRESET ?= release
BUILD := build/$(PRESET)
JOBS := $(shell nproc)
QW := $(BUILD)/qw
export CMAKE_GENERATOR ?= $(if $(shell command -v ninja),Ninja,Unix Makefiles)

.PHONY: help demo test test-asan build configure deps lint lint-light format fuzz fuzz-build torture bench bench-transport bench-peers bench-gpu wheel installed install tarball deb test-packages docs clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

demo: deps ## build the program, then show it at work on built-in graphs, offline
	@$(MAKE) --no-print-directory configure
	cmake --build $(BUILD) -j $(JOBS) --target qw_cli
	@tools/demo.sh $(QW)

test: ## build, then run the whole test suite, of the Python package too
	@tools/install_packages.sh build python browser server
	@$(MAKE) --no-print-directory build CMAKE_ARGS="$(CMAKE_ARGS) $(if $(filter release,$(PRESET)),-DQW_PYTHON=ON)"
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) $(CTEST_ARGS); status=$$?; \
	tools/summarise_tests.py $(BUILD); exit $$status

test-asan: ## build what needs no LibTorch with AddressSanitizer and UndefinedBehaviorSanitizer, then run its tests
	@$(MAKE) --no-print-directory test PRESET=asan-light

build: deps ## install what is missing and build everything
	@$(MAKE) --no-print-directory configure
	cmake --build $(BUILD) -j $(JOBS)

# In a make of its own: ninja may have come with deps.
configure:
	@test -f $(BUILD)/CMakeCache.txt && test -z "$(CMAKE_ARGS)" || cmake --preset $(PRESET) $(CMAKE_ARGS)

deps: ## install the missing Debian packages (tools/packages.txt)
	@tools/install_packages.sh build

lint: lint-light ## clang-format, layers, documents, clang-tidy over every source: half an hour on two cores
	tools/lint.sh --torch

lint-light: build ## the same without clang-tidy over what needs LibTorch: eight minutes
	@tools/install_packages.sh lint
	tools/lint.sh

format: ## rewrite all sources in the project's format
	git ls-files --cached --others --exclude-standard '*.cpp' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

fuzz-build:
	@tools/install_packages.sh build fuzz
	@test -f build/fuzz/CMakeCache.txt || cmake --preset fuzz
	cmake --build build/fuzz -j $(JOBS)

fuzz: fuzz-build ## run every fuzz target for 15 seconds (SECONDS_EACH=600 for longer)
	tools/fuzz.sh $(or $(SECONDS_EACH),15)

torture: build ## kill trainings, sweeps (KILLS=100) and workers (WORKER_KILLS=50), damage data, run folders and stores (CAMPAIGN_ARGS)
	tests/torture/kills.py --qw $(QW) --kills $(or $(KILLS),100)
	tests/torture/campaign.py --qw $(QW) $(CAMPAIGN_ARGS)
	@tools/install_packages.sh server
	tests/torture/workers.py --qw $(QW) --kills $(or $(WORKER_KILLS),50) || test $$? -eq 77
	tests/torture/workers.py --qw $(QW) --of fit --kills $(or $(WORKER_KILLS),50) || test $$? -eq 77

bench: build ## run the benchmarks of graphs and data
	$(BUILD)/qw_graph_bench
	$(BUILD)/qw_data_bench

bench-transport: build ## time exact transport: our solvers beside LEMON's, and `qw w1` beside networkx
	$(BUILD)/qw_transport_bench
	@tools/install_packages.sh peers
	bench/transport/networkx_peer.py --qw $(QW)

bench-peers: build ## time training steps beside plain PyTorch: cross-entropy, then QW with sparse and dense incidence (PEER_ARGS)
	@tools/install_packages.sh peers
	bench/peers/compare.py --qw $(QW) --require-mean 5 --require-min 2 $(PEER_ARGS)
	bench/peers/compare.py --qw $(QW) --loss qw --require-mean 5 $(PEER_ARGS)
	bench/peers/compare.py --qw $(QW) --loss qw-dense --require-mean 25 $(PEER_ARGS)

bench-gpu: ## build, test and measure on an NVIDIA GPU in ten minutes, beside PyTorch Geometric (GPU_PARTS)
	bench/gpu.sh $(GPU_PARTS)

installed: deps
	@$(MAKE) --no-print-directory configure
	cmake --build $(BUILD) -j $(JOBS) --target qw_installed

install: installed ## install under PREFIX (default /usr/local)
	cmake --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

tarball: installed ## a relocatable archive in build/PRESET/packages
	@rm -f $(BUILD)/packages/*.tar.gz
	cpack --config $(BUILD)/CPackConfig.cmake -G TGZ

deb: installed ## Debian packages qw, libqw0 and libqw-dev in build/PRESET/packages
	@tools/install_packages.sh package
	@rm -f $(BUILD)/packages/*.deb
	cpack --config $(BUILD)/CPackConfig.cmake -G DEB

test-packages: tarball deb ## lintian; unpack the archive and install the packages in a throw-away root, and train there
	tests/install/packages_test.sh $(BUILD)/packages

docs: ## a site of the documents and the C++ API in build/docs/html (Doxygen); any warning fails
	@tools/install_packages.sh docs
	@rm -rf build/docs && mkdir -p build/docs
	QW_VERSION=$$(sed -n 's/^project(qw VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt) doxygen docs/Doxyfile
	tools/check_site.py build/docs/html

wheel: ## build a wheel for the torch of VENV, a folder it makes with PyPI's torch and what the tests need
	@tools/install_packages.sh build wheel
	tools/wheel.sh

clean: ## remove everything that was built
	rm -rf build
