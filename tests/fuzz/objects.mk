# SPDX-License-Identifier: Apache-2.0
# What the fuzz targets share: the sources that read what others wrote, compiled once with
# coverage for libFuzzer and with sanitizers, into one archive. Only what changed is compiled
# again, all of it when the flags are others.
#
#	make -f objects.mk ROOT=../.. OUT=libweft-fuzz.a DIR=objects CLANG=clang FLAGS=...
ROOMS := base base/text proc unwind print $(foreach d,elf jfr collector reader,$(d) $(d)/*) coro/engine coro/look \
	$(patsubst %,report/%,read sum show view diff)
SOURCES := $(foreach d,$(ROOMS),$(wildcard $(ROOT)/src/$(d)/*.c)) \
	$(ROOT)/src/runtime/core/maps.c $(ROOT)/src/runtime/stack/module_map.c $(ROOT)/src/runtime/stack/tables.c
OBJECTS := $(patsubst $(ROOT)/src/%.c,$(DIR)/%.o,$(SOURCES))

$(OUT): $(OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

$(DIR)/flags: always
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' >$@
.PHONY: always

$(DIR)/%.o: $(ROOT)/src/%.c $(ROOT)/tests/fuzz/objects.mk $(DIR)/flags
	@mkdir -p $(@D)
	@$(CLANG) $(FLAGS) -I$(ROOT)/src -I$(ROOT)/include -MMD -MP -c $< -o $@

-include $(OBJECTS:.o=.d)
