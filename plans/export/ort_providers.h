/* Execution providers of ONNX Runtime that the devices of a plan stand for. Inside of plans/export. */
#pragma once

#include "exporters.h"

/* berth_export_theirs: CPUExecutionProvider for devices "cpu...", CUDAExecutionProvider for "gpu..." and
 * "cuda...". Providers that are trouble are warned of. Fails: as that; BERTH_EINVAL (a name that the option
 * cannot hold). */
berth_status ort_providers(const berth_export_source *x, const char **provider, berth_export_out *out,
                           berth_err *err);

/* The first device of the CPU's provider; -1: none. */
int32_t ort_cpu_of(const char *const *provider, int32_t n_devs);

/* "PROVIDER(rule,rule);PROVIDER(rule)", providers in the order of their first device: rules [n_devs] are
 * joined texts, NULL: none. The text lives in mem. Fails: BERTH_ENOMEM. */
berth_status ort_provider_rules(const char *const *provider, const char *const *rules, int32_t n_devs,
                                berth_arena *mem, const char **out, berth_err *err);

/* What it does without a plan: everything on the best one of the devices that can run all of it. */
berth_status ort_usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                       berth_err *err);

/* Characters that rules cannot hold. */
#define ORT_RULE_SIGNS "()=;,"

/* Could text stand in a rule? */
bool ort_rule_holds(const char *text);

/* Note how many kernels (BERTH_GRAIN_KERNEL) the plan cuts: from optimisation level 1 on the first operator's
 * device would have all, or the fusion is lost. Fails: BERTH_ENOMEM. O(edges). */
berth_status ort_fused_note(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                            berth_err *err);
