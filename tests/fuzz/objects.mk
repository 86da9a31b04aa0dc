# SPDX-License-Identifier: Apache-2.0
# What the fuzz targets share: the sources that read what others wrote, compiled once with
# coverage for libFuzzer and with sanitizers, into one archive. Only what changed is compiled
# again, all of it when the flags are others.
#
#	make -f objects.mk ROOT=../.. OUT=libweft-fuzz.a DIR=objects CLANG=clang FLAGS=...
SOURCES := $(foreach d,base unwind elf jfr print collector reader,$(wildcard $(ROOT)/src/$(d)/*.c)) \
	$(patsubst %,$(ROOT)/src/coro/%.c,conform harvest input lives names order report \
		report_input report_judge shm snapshot station times) \
	$(patsubst %,$(ROOT)/src/report/%.c,account aggregate context decode diff diff_print diff_settings \
		facts facts_take histogram interval json_value key layout model names plan source table tally times types \
		view view_events view_locks view_print view_spans view_sums where) \
	$(ROOT)/src/runtime/module_map.c $(ROOT)/src/runtime/tables.c
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
