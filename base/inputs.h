/* Every kind of file that berth reads, in one table: who reads it, whether in the sandbox, by which fuzz
 * target it is tried, and how a bad one ends. What opens a file to be read takes a kind (file.h, beneath.h):
 * none that does not stand here is read. docs/security.md and the test `sandbox` go by the same rows. */
#pragma once

#include <stdbool.h>

/* X(KIND, boxed, what, who reads it, fuzz targets, exit code where it is bad)
 * boxed: verbs read it in the sandbox. What is not is the user's own, or berth's. */
#define BERTH_READS(X) \
	X(MODEL, true, \
	  "models and graphs (ONNX, GGUF, DOT, STG, DAX, WfCommons, JSON, workloads, model folders)", \
	  "`graphs/onnx/`, `graphs/readers/`, `graphs/graph_json.c`", \
	  "onnx, gguf, hf, dot, stg, dax, wfcommons, tarnawski, graph_json, load", "4") \
	X(PART, true, "further files of a model: parts of a GGUF file, what a model folder holds", \
	  "`graphs/readers/gguf.c`, `hf.c`", "gguf, hf", "4") \
	X(WEIGHTS, false, "weights beside a model: copied by `split --data`, read by engines", \
	  "no byte of them is looked at", "none", "4") \
	X(SYSTEM, true, "systems", "`env/model/system_json.c`", "system_json", "4") \
	X(CERTIFICATE, true, "certificates", "`env/bounds/certificate_json.c`", "certificate", "4") \
	X(PLAN, true, "plans", "`plans/file/placement.c`", "placement", "4") \
	X(BLOCKS, true, "blocks (`--granularity FILE`)", "`graphs/group/granularity_file.c`", "blocks", \
	  "4") \
	X(CHANGES, false, "changes (`--what-if FILE`)", "`env/model/system_change.c`", "changes", "2") \
	X(ORT_PROFILE, true, "profiles of ONNX Runtime", "`plans/import/ort_profile.c`", "ort_profile", "4") \
	X(IMPORT, true, "profiles, logs and maps of `import-plan`", "`plans/import/`", "import_plan", "4") \
	X(POLICY, true, "policies", "`base/safetensors.c`, `agent/policy/policy_file.c`", \
	  "safetensors, policy_file", "4") \
	X(CHECKPOINT, false, "checkpoints that a training goes on from", "the same", "checkpoint", "4") \
	X(LOG, false, "training logs, lists of what to train on, and of requests", \
	  "`cli/search/train_log.c`, `train_items.c`, `request_lengths.c`", "none", "4") \
	X(JOURNAL, false, "journals of measured runs, and what errors were kept of them", \
	  "`engines/client/journal.c`, `plans/export/engine_errors.c`", "journal", "4") \
	X(ENGINE, false, "an engine's words, and what its library writes", \
	  "`engines/client/engine_client.c`, `engine_answer.c`", "engine", "5")

typedef enum berth_reads {
#define BERTH_READS_NAME(kind, boxed, what, who, fuzz, code) BERTH_READS_##kind,
	BERTH_READS(BERTH_READS_NAME)
#undef BERTH_READS_NAME
	BERTH_N_READS
} berth_reads;

/* Is that kind one for the sandbox? */
bool berth_reads_boxed(berth_reads kind);
