# make            build into build/
# make demo       install what is missing, build, tell what happens while two teams share an embedded cluster
# make test       install what is missing, run every test
# make docs       the documents as a site, build/docs/index.html
# More: HACKING.md

BUILD ?= build
PREFIX ?= /usr/local

.PHONY: all deps demo test test-sanitize test-threads check lint bench fuzz hostile soak docs install deb image clean

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja: | deps
	meson setup $(BUILD) --buildtype=release --prefix=$(PREFIX)

deps:
	@scripts/deps

demo: deps all
	$(BUILD)/capstan demo

test: deps all
	scripts/test $(BUILD)

# The same tests with the compiler's checks on. A report has lines, and undefined behaviour ends the program: the code to go on after it,
# and what a debugger would want to know beyond lines, cost a fifth of the compiler's time.
$(BUILD)-asan/build.ninja: | deps
	CC=clang meson setup $(BUILD)-asan -Db_sanitize=address,undefined -Db_lundef=false -Dbench=false \
	    -Dc_args='-g1 -fno-sanitize-recover=undefined'

test-sanitize: deps $(BUILD)-asan/build.ninja
	ninja -C $(BUILD)-asan
	scripts/test $(BUILD)-asan

# Those that have threads, with ThreadSanitizer: a report ends the program with 66, which is a failure.
THREADS = loop/loop_uv base/mutex nvsim/nvml nvsim/together agent/nvml_worker agent/driver_nvml agent/driver_nvml_fault agent/driver_nvml_old \
  agent/measure agent/dcgm exporter/collect apiserver/store
test-threads: deps
	@test -f $(BUILD)-tsan/build.ninja || CC=clang meson setup $(BUILD)-tsan -Db_sanitize=thread -Db_lundef=false -Dbench=false
	ninja -C $(BUILD)-tsan
	meson test -C $(BUILD)-tsan --no-rebuild --timeout-multiplier 10 $(THREADS)

check: deps
	scripts/check

lint: check

bench: deps all
	scripts/bench $(BUILD)

# 60 s a target; FUZZ_SECONDS changes it.
fuzz: deps
	@test -f $(BUILD)-fuzz/build.ninja || CC=clang meson setup $(BUILD)-fuzz -Dfuzz=true -Dbench=false -Db_sanitize=address,undefined -Db_lundef=false
	ninja -C $(BUILD)-fuzz
	scripts/fuzz $(BUILD)-fuzz

# Objects that are not as expected, against whole programs with the compiler's checks on: HOSTILE_SECONDS=300 of each of the two ways.
# What is found is kept in $(BUILD)-asan/hostile, and begins with the SEED and the batch that show it again.
hostile: deps $(BUILD)-asan/build.ninja
	ninja -C $(BUILD)-asan capstan
	@mkdir -p $(BUILD)-asan/hostile
	BUILD=$(BUILD)-asan tests/hostile/run --seed $${SEED:-$$(date +%s)} --seconds $${HOSTILE_SECONDS:-300} --operations 150 \
	    --keep $(BUILD)-asan/hostile

# The random models and the whole system under faults: a million steps each.
soak: deps all
	scripts/soak $(BUILD)

# The documents as a site of plain files, build/docs/index.html: no network, no server.
docs: deps
	scripts/make-docs $(BUILD)/docs

install: all
	ninja -C $(BUILD) install

# build/package/capstan_VERSION_ARCH.deb
deb: all
	@mkdir -p $(BUILD)/package
	@rm -f $(BUILD)/package/*.deb
	scripts/package/make-deb $(BUILD) $(BUILD)/package

# The image of that package and of the libraries that it needs, by whichever of these is there; no registry is asked.
# IMAGE=registry.example.com/capstan:0.1.0
IMAGE ?= capstan:0.1.0
image: deb
	@rm -rf $(BUILD)/image
	scripts/package/make-image $(BUILD)/image/root $(BUILD)/package/*.deb
	@for tool in buildah podman docker; do \
	    command -v $$tool >/dev/null && exec $$tool build -f deploy/Containerfile -t $(IMAGE) $(BUILD)/image; done; \
	    echo "make image: needs buildah, podman or docker" >&2; exit 1

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz
