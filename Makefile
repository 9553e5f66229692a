# One door for everything. Each target installs what is missing, builds what has changed and does its job; a second call
# is incremental and needs no network.
#
#   make run          the matrix product on every target
#   make test         everything that can be checked here

BUILD := build
ARGS ?=

# Lets ccache reuse objects that were compiled against the precompiled header.
export CCACHE_SLOPPINESS := pch_defines,time_macros,include_file_mtime,include_file_ctime
# What it does not have yet is compiled at once, not preprocessed first: a fifth of a build's time.
export CCACHE_DEPEND := 1

.PHONY: help run test test-torch test-ray wheel check-wheel soak build bench docs format bundle clean bootstrap
.DEFAULT_GOAL := help

help:
	@echo 'make run      compute a matrix product on every target and say how far off it is'
	@echo 'make test     build and run every test; the last line counts them'
	@echo 'make soak     attack the proof and the cache, and judge 45,000 random kernels; goes on where it was stopped'
	@echo 'make build    build everything into build/'
	@echo 'make bench    run the measurements of bench/; ARGS="--only h200": speeds on a GPU, beside others (docs/performance.md)'
	@echo 'make docs     write the generated pages of docs/'
	@echo 'make format   format every source file'
	@echo 'make test-torch   the tests of Python with torch, which is 3 GB to install'
	@echo 'make test-ray the tuner on a cluster of Ray, several nodes on this machine'
	@echo 'make wheel    one wheel for all versions of Python, with LLVM inside, in dist/'
	@echo 'make check-wheel  install that wheel where nothing else is, and run a kernel with it'
	@echo 'make bundle   pack a self-contained compiler into dist/'
	@echo 'make clean    remove build/'
	@echo
	@echo 'ARGS="…" is handed to the script behind run, test and bench; SOLITON_JOBS=N limits parallel compilations.'

bootstrap:
	@scripts/bootstrap.sh

$(BUILD)/build.ninja: CMakePresets.json | bootstrap
	cmake --preset release
	@touch $@

build: $(BUILD)/build.ninja | bootstrap
	@ninja -C $(BUILD) -j $$(scripts/jobs.sh)

run: $(BUILD)/build.ninja | bootstrap
	@ninja -C $(BUILD) -j $$(scripts/jobs.sh) soliton
	@python3 scripts/run_demo.py $(ARGS)

test: build
	@python3 scripts/run_tests.py $(ARGS)

test-torch: $(BUILD)/build.ninja | bootstrap
	@ninja -C $(BUILD) -j $$(scripts/jobs.sh) SolitonShared SolitonFakeHIP
	@python3 scripts/run_tests.py --torch

test-ray: $(BUILD)/build.ninja | bootstrap
	@ninja -C $(BUILD) -j $$(scripts/jobs.sh) soliton
	@python3 scripts/run_tests.py --ray

wheel: $(BUILD)/build.ninja | bootstrap
	@ninja -C $(BUILD) -j $$(scripts/jobs.sh) SolitonSelfContained
	@python3 scripts/make_wheel.py

# In a fresh environment of each Python that is here; in a bare Debian: ARGS="--chroot FOLDER", as root.
check-wheel:
	@python3 scripts/check_wheel.py $(ARGS)

# What was judged is in build/soak.txt; remove it to begin anew. Before the random kernels: the same bytes from a hundred
# processes, a cache and a tuner under attack, and broken schedules and kernels, of which none may be accepted and wrong.
soak: $(BUILD)/build.ninja | bootstrap
	@ninja -C $(BUILD) -j $$(scripts/jobs.sh) SolitonGenerate SolitonAttack soliton
	@python3 scripts/check_determinism.py --soliton $(BUILD)/bin/soliton --processes 100
	@python3 scripts/attack_cache.py --soliton $(BUILD)/bin/soliton --processes 64 --runs 200
	@ninja -C $(BUILD) -j $$(scripts/jobs.sh) SolitonShared && python3 scripts/attack_cache.py --python --build $(BUILD) --processes 64 --runs 200
	@python3 scripts/attack_tuner.py --soliton $(BUILD)/bin/soliton --candidates 96 --faults 1000 --kills 1000 --replays 50
	@$(BUILD)/bin/SolitonAttack --whole 40 --threads $$(scripts/jobs.sh) -v
	@$(BUILD)/bin/SolitonAttack --threads $$(scripts/jobs.sh) -v
	@$(BUILD)/bin/SolitonGenerate --seeds 0..25000,50000..55000,300000..305000,400000..405000,600000..605000,800000..820000,900000..920000 --seeds-file test/generate/seeds.txt --seeds-file test/generate/seeds-slow.txt --jobs $$(scripts/jobs.sh) \
	    --limit 180 --resume $(BUILD)/soak.txt --keep $(BUILD) --refused-percent 3 --kernels-per-pair 20 $(ARGS)

bench: build
	@python3 scripts/run_bench.py $(ARGS)

docs: | bootstrap
	@python3 scripts/gen_docs.py

format: | bootstrap
	@python3 scripts/check_format.py --all --fix

bundle: | bootstrap
	@scripts/bundle.sh

clean:
	rm -rf $(BUILD)
