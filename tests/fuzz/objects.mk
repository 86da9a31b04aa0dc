# SPDX-License-Identifier: Apache-2.0
# What the fuzz targets share: the sources that read what others wrote, compiled once with
# coverage for libFuzzer and with sanitizers, into one archive. Only what changed is compiled
# again.
#
#	make -f objects.mk ROOT=../.. OUT=libweft-fuzz.a DIR=objects CLANG=clang FLAGS=...
SOURCES := $(foreach d,base unwind elf jfr collector,$(wildcard $(ROOT)/src/$(d)/*.c)) \
	$(ROOT)/src/runtime/module_map.c $(ROOT)/src/runtime/tables.c
OBJECTS := $(patsubst $(ROOT)/src/%.c,$(DIR)/%.o,$(SOURCES))

$(OUT): $(OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

$(DIR)/%.o: $(ROOT)/src/%.c $(ROOT)/tests/fuzz/objects.mk
	@mkdir -p $(@D)
	@$(CLANG) $(FLAGS) -I$(ROOT)/src -I$(ROOT)/include -MMD -MP -c $< -o $@

-include $(OBJECTS:.o=.d)
