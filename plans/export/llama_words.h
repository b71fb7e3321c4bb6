/* The command line of llama.cpp for a plan, and patterns for its tensors.
 *
 * Patterns are of llama.cpp's option -ot: "REGEX=BUFFER,...", searched anywhere in a tensor's name, the first
 * that is found counts, and commas part them. Ours are anchored and have no comma. Each is held against all
 * names of the file with the regular expressions of this system. */
#ifndef BERTH_LLAMA_WORDS_H
#define BERTH_LLAMA_WORDS_H

#include "llama_plan.h"

/* Is a device that the user calls word (NULL: nothing) the CPU of llama.cpp's? Without a word by a name or
 * kind that begins with "cpu". */
bool llama_is_cpu(const char *name, const char *kind, const char *word);

/* What llama.cpp calls the devices. */
typedef struct llama_names {
	const char **device; /* [n_devs of the system] as in -dev: "CUDA0", "RPC1"; NULL: not used */
	const char **buffer; /* [n_devs of the system] as in -ot: "CUDA0", "RPC1[host:50052]" */
	const char *rpc;     /* "host:port,host:port"; NULL: none */
	bool *is_cpu;        /* [n_devs of the system] */
} llama_names;

/* From the words that the user gave, theirs [n_devs] ("CUDA0", "CPU", "RPC[host:port]"; NULL: none). Devices
 * that op_dev uses need one; CPUs (llama_is_cpu) are "CPU" without. Fails: BERTH_EINVAL naming the device
 * and what is expected, BERTH_ENOMEM. */
berth_status llama_names_read(const char *const *dev_name, const char *const *dev_kind, int32_t n_devs,
                              const char *const *theirs, const int32_t *op_dev, int32_t n_ops,
                              berth_arena *mem, llama_names *out, berth_err *err);

/* One device of llama.cpp's, and what is told to be there. */
typedef struct llama_override {
	const char *regex, *buffer;
} llama_override;

typedef struct llama_overrides {
	int32_t cpu_experts;  /* -ncmoe: the experts of so many first layers are on the CPU */
	llama_override *item; /* [n] */
	int32_t n;
} llama_overrides;

/* The overrides of plan; mem and tmp as in llama_plan_make. Every tensor of the file that is told matches
 * just the one pattern of its device, and no other tensor matches any. Fails: BERTH_EUNSUPPORTED (a name that
 * no pattern can hold), BERTH_ENOMEM. */
berth_status llama_overrides_make(const llama_plan *plan, const berth_gguf_list *file,
                                  const llama_names *names, berth_arena *mem, berth_arena *tmp,
                                  llama_overrides *out, berth_err *err);

/* The whole line, quoted for a shell, without an end of line; in mem. program and path as they are called.
 * Fails: BERTH_ENOMEM. */
berth_status llama_line(const char *program, const char *path, const llama_plan *plan,
                        const berth_gguf_list *file, const llama_names *names,
                        const llama_overrides *overrides, berth_arena *mem, const char **line,
                        berth_err *err);

#endif
