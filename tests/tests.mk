# SPDX-License-Identifier: BSD-2-Clause
# What the tests need besides the unit tests: the stand-in CUDA libraries and the workloads.
# Included by GNUmakefile, which defines B, Q, say and WARNINGS.

FAKECUDA := $(B)tests/fakecuda/
FAKECUDA_LIBS := $(FAKECUDA)libcuda.so.1 $(FAKECUDA)libcudart.so.13
WORKLOADS := $(patsubst %.c,$(B)%,$(wildcard tests/workloads/*.c))
CUDA_WORKLOADS := $(addprefix $(B)tests/workloads/,storm firstcall hang jump execcall)
TEST_PROGRAMS += $(FAKECUDA_LIBS) $(WORKLOADS)

# Never sanitized, and every function begins with a push, as in the real library: what an
# emulated probe costs hangs on it. tests/e2e/fakecuda looks at each.
STAND_IN_CFLAGS := -std=gnu17 -D_GNU_SOURCE -O2 -g $(WARNINGS) -Wno-unused-parameter
FAKECUDA_CFLAGS := $(STAND_IN_CFLAGS) -fPIC -fvisibility=hidden -fno-omit-frame-pointer \
	-mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls \
	$(if $(filter x86_64,$(MACHINE)),-fcf-protection=none)

$(B)tests/fakecuda/%.o: tests/fakecuda/%.c tests/tests.mk | $(DEPS)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(FAKECUDA_CFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(FAKECUDA)libcuda.so.1: $(addprefix $(FAKECUDA),core.o account.o driver.o)
	$(call say,LINK,$@)$(CC) -shared -Wl,-soname,$(@F) -o $@ $^ -lm -pthread
$(FAKECUDA)libcudart.so.13: $(FAKECUDA)runtime.o $(FAKECUDA)libcuda.so.1
	$(call say,LINK,$@)$(CC) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $^

# The runtime linked into the program, as nvcc does by default: its functions are local symbols.
STATIC_STORM := $(B)tests/workloads/storm-static
TEST_PROGRAMS += $(STATIC_STORM)
$(FAKECUDA)runtime-static.o: tests/fakecuda/runtime.c tests/tests.mk | $(DEPS)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(FAKECUDA_CFLAGS) -DFAKECUDA_STATIC -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(STATIC_STORM): tests/workloads/storm.c $(FAKECUDA)runtime-static.o $(FAKECUDA)libcuda.so.1
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(STAND_IN_CFLAGS) -MMD -MP -MF $@.d -o $@ $^ -pthread \
		-Wl,-rpath,'$$ORIGIN/../fakecuda'

# A driver library of its own, whose functions jump to each other.
TAILCALL := $(B)tests/workloads/tailcall
TAILCALL_LIB := $(B)tests/tailcall/libcuda.so.1
TEST_PROGRAMS += $(TAILCALL_LIB)
$(TAILCALL_LIB): tests/workloads/tailcall.c tests/tests.mk | $(DEPS)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(filter-out -fno-optimize-sibling-calls,$(FAKECUDA_CFLAGS)) \
		-DTAILCALL_LIBRARY -MMD -MP -MF $@.d -shared -Wl,-soname,$(@F) -o $@ $<
$(TAILCALL): $(TAILCALL_LIB)
$(TAILCALL): WORKLOAD_LIBS = -L$(@D)/../tailcall -l:libcuda.so.1 -Wl,-rpath,'$$ORIGIN/../tailcall'

$(WORKLOADS): $(B)%: %.c tests/tests.mk | $(DEPS)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(STAND_IN_CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(WORKLOAD_LIBS) -ldl -pthread
$(CUDA_WORKLOADS): $(FAKECUDA_LIBS)
$(CUDA_WORKLOADS): WORKLOAD_LIBS = -L$(FAKECUDA) -l:libcudart.so.13 -l:libcuda.so.1 \
	-Wl,-rpath,'$$ORIGIN/../fakecuda'

# The planted cases: tests/blame/run says which there are.
BLAME := $(addprefix $(B)tests/blame/,job hog)
TEST_PROGRAMS += $(BLAME)
BLAME_HEADERS := $(wildcard tests/blame/*.h) tests/workloads/workload.h tests/workloads/cuda.h
$(BLAME): $(B)tests/blame/%: tests/blame/%.c tests/blame/clock.c $(BLAME_HEADERS) tests/tests.mk | $(DEPS)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(STAND_IN_CFLAGS) -o $@ $(filter %.c,$^) $(WORKLOAD_LIBS) -pthread
$(B)tests/blame/job: tests/blame/workers.c $(FAKECUDA_LIBS)
$(B)tests/blame/job: WORKLOAD_LIBS = -L$(FAKECUDA) -l:libcudart.so.13 -l:libcuda.so.1 \
	-Wl,-rpath,'$$ORIGIN/../fakecuda'
