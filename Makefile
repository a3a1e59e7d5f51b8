# SPDX-License-Identifier: Apache-2.0
# Front door. Everything is built by meson; these targets do the set-up too, on Debian 12 and
# Ubuntu 24.04. `make` alone says what there is.

BUILD := build
NINJA := ninja -C $(BUILD)

help:
	@echo 'make demo         install what is missing, build, run the demo (about 2 minutes)'
	@echo 'make check        build with gcc and clang, lint, unit, fuzz replay, scenario tests'
	@echo 'make check-long   the same with full counts'
	@echo 'make bench        the figures, one JSON line each'
	@echo 'make build        build with gcc into $(BUILD)/'
	@echo 'make unit lint fuzz scenario    one part of check'
	@echo 'make format       put the sources into shape'
	@echo 'make install      build, then install into /usr/local (or DESTDIR/usr/local)'
	@echo 'make clean        remove what was built'

demo:
	@sh scripts/setup demo
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	$(NINJA) src/programs/hemra src/ground/wire/libhemra-toml.so
	@python3 -B scripts/demo

check:
	@sh scripts/setup check
	@/usr/bin/python3 -B scripts/check

check-long:
	@sh scripts/setup check
	@/usr/bin/python3 -B scripts/check --long

bench: build
	@/usr/bin/python3 -B scripts/bench

build: $(BUILD)/build.ninja
	$(NINJA)

$(BUILD)/build.ninja:
	meson setup $(BUILD)

unit lint fuzz: build
	@/usr/bin/python3 -B scripts/check $@

scenario: build
	@/usr/bin/python3 -B scripts/check scenario

format:
	find src tests -name '*.c' -o -name '*.h' -o -name '*.cc' | xargs clang-format -i

install: build
	meson install -C $(BUILD) --no-rebuild --destdir '$(DESTDIR)'
	if [ -d '$(DESTDIR)/etc/apparmor.d' ]; then \
		install -m 0644 data/apparmor/hemra '$(DESTDIR)/etc/apparmor.d/hemra'; fi

clean:
	rm -rf build build-clang build-sanitize build-fuzz

.PHONY: help demo check check-long bench build unit lint fuzz scenario format install clean
