/* What graphs, placements and simulations are written as for other programs. One table for all of them:
 * pictures, tables, and models or settings that an engine runs. */
#pragma once

#include "file.h"
#include "graph_format.h"
#include "json.h"
#include "objective.h"
#include "text.h"
#include "timeline.h"

/* What an exporter must be given. */
typedef enum berth_export_needs {
	BERTH_EXPORT_GRAPH,     /* the graph; a system and a placement add to what is written */
	BERTH_EXPORT_PLACEMENT, /* also a system and a placement */
	BERTH_EXPORT_TIMELINE   /* also a simulation that runs */
} berth_export_needs;

/* A plan of a PyTorch module as a Python file, checked beside the module: an answer of `berth-engine-torch
 * place` to the question asked, both JSON (docs/formats.md). text [*size] lives in mem. Fails as
 * berth_module_graph does; BERTH_EFORMAT also where the plan cannot be written. */
typedef berth_status berth_module_place(const char *spec, const char *asked, berth_arena *mem,
                                        const char **text, size_t *size, berth_err *err);

/* What there is to write; all borrowed. */
typedef struct berth_export_source {
	const berth_graph *g;
	const berth_system *s;    /* NULL: none */
	const int32_t *op_dev;    /* [n_ops] devices of s; NULL: none */
	const berth_problem *p;   /* of g and s; NULL: none, or s is nothing but names of devices */
	const berth_timeline *t;  /* of p and op_dev; NULL: none */
	const berth_content *model; /* the file that g was read from; NULL: none (the zoo) */
	/* [n_devs] what the target calls the devices, where it was told; NULL: nothing was told at all */
	const char *const *theirs;
	const berth_read_options *read; /* how g was read from model; NULL: by the defaults */
	const berth_sandbox *sandbox;   /* the model is looked at in one; NULL: here */
	const struct berth_uses *uses; /* of a language model that was placed for both; NULL: for g alone */
	const char *module; /* FILE.py:FACTORY with its words, where g is that module's; NULL: it is not */
	berth_module_place *module_place; /* NULL: modules cannot be run here */
} berth_export_source;

/* What there is for the user to know beside the file. */
typedef struct berth_export_setting {
	const char *key, *value; /* an option of the target, a command line */
} berth_export_setting;

/* What the target will hold on a device, bytes. */
typedef struct berth_export_memory {
	const char *device; /* of the plan; what the target calls it where the plan has none such */
	int64_t weights, cache, buffers; /* buffers: an estimate; -1: it cannot be told */
} berth_export_memory;

/* Tokens a second in a use of a language model, predicted. */
typedef struct berth_export_rate {
	const char *use; /* "answering", "reading" */
	double plan, usual; /* usual: what the engine does by itself; NAN: not known */
} berth_export_rate;

/* Seconds of a mean token by a plan and by what the engine does by itself, NAN: that cannot be told; and how
 * far off predicted times let their ratio be (op_times.h). */
typedef struct berth_export_uses {
	double plan, usual, error;
} berth_export_uses;

/* What an exporter makes: the file in pieces, one behind the other, and words for the user. Lists and texts
 * live in mem; a piece may also be a part of the model. */
typedef struct berth_export_out {
	berth_arena *mem; /* set by the caller, the rest zero */
	berth_file_piece *piece;
	size_t n_pieces, cap_pieces;
	berth_export_setting *setting;
	int32_t n_settings;
	size_t cap_settings;
	berth_export_memory *memory; /* [n_memory] in the order of the target; 0: not known */
	int32_t n_memory;
	berth_export_rate *rate; /* [n_rates] */
	int32_t n_rates;
	const char *usual; /* the file that says what the engine does when told nothing; NULL: not known */
	const char **note, **warning;
	const char *unfit; /* why the target can hardly run it, a sentence in mem; NULL: not known */
	int32_t n_notes, n_warnings;
	size_t cap_notes, cap_warnings;
} berth_export_out;

/* Add a piece, which must outlive out, also as a text or JSON that is done now; a setting, whose texts must;
 * a note or a warning, a sentence each. Fail: BERTH_ENOMEM. */
berth_status berth_export_put(berth_export_out *out, const void *data, size_t size, berth_err *err);
berth_status berth_export_put_text(berth_export_out *out, berth_strbuf *text, berth_err *err);
berth_status berth_export_put_json(berth_export_out *out, berth_json_out *w, berth_err *err);
berth_status berth_export_set(berth_export_out *out, const char *key, const char *value, berth_err *err);
berth_status berth_export_note(berth_export_out *out, berth_err *err, const char *fmt, ...)
	BERTH_PRINTF(3, 4);
berth_status berth_export_warn(berth_export_out *out, berth_err *err, const char *fmt, ...)
	BERTH_PRINTF(3, 4);

struct berth_gguf_options; /* decoder_model.h */

typedef struct berth_exporter {
	const char *name;   /* "dot"; variants of one engine have a word behind it: "ort:rules" */
	const char *about;  /* one sentence */
	const char *suffix; /* of its files, with the dot */
	berth_export_needs needs;
	/* The file's format, as berth_format calls it, that the graph must come from ("A or B"); NULL: any,
	 * or none. */
	const char *model;
	bool binary; /* the file is no text */
	bool own_names; /* the file calls devices as the plan does: words for them are of no use */
	/* Everything is checked before anything is made: names exist and match what they should, nothing
	 * twice or not at all. What the target cannot express is refused by name. tmp is scratch, another
	 * arena than out->mem; the caller resets it. Fails: BERTH_EUNSUPPORTED (the target cannot express
	 * it), BERTH_EINVAL (a word for a device is missing), BERTH_EFORMAT (the model), BERTH_ENOMEM. */
	berth_status (*write)(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
	                      berth_err *err);
	/* What the engine does when it is told nothing: op_dev [n_ops]. *known false: that cannot be told of
	 * this source. NULL: no engine stands behind it. Fails: BERTH_ENOMEM. */
	berth_status (*usual)(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
	                      berth_err *err);
	/* Of x beside usual_dev [n_ops] in all uses of its model (x->uses), as the engine runs it. NULL: it
	 * has one use. Fails: BERTH_ENOMEM, as readers of the model. */
	berth_status (*seconds)(const berth_export_source *x, const int32_t *usual_dev, berth_arena *tmp,
	                        berth_export_uses *out, berth_err *err);
	/* The kinds of devices (engine_errors.h) that op_dev of x is judged by. NULL: of all operators. */
	const char *(*error_devices)(const berth_export_source *x, const int32_t *op_dev);
	/* The plan nearest to op_dev of x that the target can express, out [n_ops]. NULL: any plan can be, or
	 * any of whole blocks. Fails: BERTH_EUNSUPPORTED (there is none), as write. */
	berth_status (*nearest)(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev,
	                        berth_err *err);
	/* The best plan that the target can be told, exactly or nearly, by the time of its operators one
	 * after the other: op_dev [n_ops]; *bound: seconds that no such plan is below, NAN where none is
	 * known. x has a problem, and needs no placement. NULL: it has no method of its own. Fails:
	 * BERTH_EINFEASIBLE (none fits), BERTH_EUNSUPPORTED (the target cannot be told of this source),
	 * BERTH_ENOMEM. */
	berth_status (*best)(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, double *bound,
	                     berth_err *err);
	/* Of a language model how it runs, by the words it is read with (NULL: the defaults), and *path, what
	 * the engine is told to load. Texts live in mem. NULL: no engine of such is behind it. Fails:
	 * BERTH_EUNSUPPORTED (it has no option for a word, or cannot load such files), BERTH_EINVAL (a bad
	 * word), BERTH_ENOMEM. */
	berth_status (*model_words)(const berth_content *model, const berth_read_options *read,
	                            berth_arena *mem, struct berth_gguf_options *out, const char **path,
	                            berth_err *err);
} berth_exporter;

/* A new exporter is a file that defines berth_export_NAME, and a line here. */
#define BERTH_EXPORTERS(X) \
	X(accelerate) \
	X(csv) \
	X(dot) \
	X(llama) \
	X(openvino) \
	X(ort) \
	X(ort_onnx) \
	X(ort_rules) \
	X(torch) \
	X(trace) \
	X(vllm)

#define BERTH_DECLARE_EXPORTER(name) extern const berth_exporter berth_export_##name;
BERTH_EXPORTERS(BERTH_DECLARE_EXPORTER)

/* What a cell of a table stood for that exporter "csv" may have put an apostrophe in front of: text, or
 * behind its apostrophe. */
const char *csv_cell_bare(const char *text);

/* All of them. */
extern const berth_exporter *const berth_exporters[];
extern const int32_t berth_n_exporters;

/* Is a file of that format one that e takes? */
bool berth_exporter_takes(const berth_exporter *e, const char *format);

/* Fails: BERTH_EINVAL naming the known ones, or what one of before is called now. */
berth_status berth_exporter_find(const char *name, const berth_exporter **out, berth_err *err);

/* The engine that runs what e writes (engine_rules.h); NULL: none does. */
const berth_engine_rules *berth_exporter_engine(const berth_exporter *e);
/* What writes plans for the engine. Not NULL. */
const berth_exporter *berth_exporter_for(const berth_engine_rules *engine);

/* op_dev [n_ops] of what e does with x when told nothing: x has a problem, and a model of a format that e
 * runs where its rules read it. *why NULL, or why that is not known. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM, as readers of the model. */
berth_status berth_engine_usual(const berth_engine_rules *e, const berth_export_source *x, berth_arena *tmp,
                                int32_t *op_dev, const char **why, berth_err *err);

/* What the exporter makes of x. Fails: BERTH_EINVAL (it needs more than there is), and as it does. */
berth_status berth_export_make(const berth_exporter *e, const berth_export_source *x, berth_arena *tmp,
                               berth_export_out *out, berth_err *err);

/* `usual`, `nearest`, `best` and `seconds` of e, which has them, for x. Fail: as they do;
 * berth_sandbox_run. */
berth_status berth_export_usual(const berth_exporter *e, const berth_export_source *x, berth_arena *tmp,
                                int32_t *op_dev, bool *known, berth_err *err);
berth_status berth_export_nearest(const berth_exporter *e, const berth_export_source *x, berth_arena *tmp,
                                  int32_t *op_dev, berth_err *err);
berth_status berth_export_best(const berth_exporter *e, const berth_export_source *x, berth_arena *tmp,
                               int32_t *op_dev, double *bound, berth_err *err);

berth_status berth_export_seconds(const berth_exporter *e, const berth_export_source *x,
                                  const int32_t *usual_dev, berth_arena *tmp, berth_export_uses *out,
                                  berth_err *err);

/* seconds of an exporter of GGUF models: what a mean token takes by x->uses, operators one after the other.
 * The model is read twice more. Of another file, or with measured times, it is the sum for x alone. */
berth_status berth_export_uses_seconds(const berth_export_source *x, const int32_t *usual_dev,
                                       berth_arena *tmp, berth_export_uses *out, berth_err *err);

/* `write` of e, in a sandbox: berth_export_make alone calls it. */
berth_status export_write_apart(const berth_exporter *e, const berth_export_source *x, berth_export_out *out,
                                berth_err *err);

/* Write x to the file at path ("-": standard output) by the exporter of that name. mem and tmp are scratch,
 * two arenas, reset at exit. Fails: BERTH_EINVAL (no such exporter), as berth_export_make, BERTH_EIO. */
berth_status berth_export(const char *name, const berth_export_source *x, const char *path, berth_arena *mem,
                          berth_arena *tmp, berth_err *err);

/* Add a word of a shell's line behind others: as it is where nothing in it means anything to a shell, else
 * quoted. */
void berth_export_put_word(berth_strbuf *b, const char *word);
/* An option and its value, behind what stands there. */
void berth_export_put_option(berth_strbuf *b, const char *option, const char *value);
void berth_export_put_number(berth_strbuf *b, const char *option, int64_t x);

/* Names that an export writes: what the target calls devices, and names that must stand once. Inside of
 * plans/export. */

/* What a target usually calls devices whose kind or name begins so. A list ends with NULL. */
typedef struct berth_export_word {
	const char *begins, *theirs;
} berth_export_word;

/* theirs [n_devs], NULL for devices that the plan does not use: what --device told, else the first usual word
 * that fits, which is noted. what: a word for one of them, for messages. Fails: BERTH_EINVAL (a device
 * without a name), BERTH_EUNSUPPORTED (two devices of one name, unless --device says so), BERTH_ENOMEM. */
berth_status berth_export_theirs(const berth_export_source *x, const berth_export_word *usual,
                                 const char *what, const char **theirs, berth_export_out *out,
                                 berth_err *err);

/* The same for the plan op_dev [n_ops], where GPUs that --device tells nothing of are called `before` and the
 * numbers that are free, in the order of the system. */
berth_status berth_export_theirs_numbered(const berth_export_source *x, const int32_t *op_dev,
                                          const char *before, const berth_export_word *usual,
                                          const char *what, const char **theirs, berth_export_out *out,
                                          berth_err *err);
/* The first part of that: told [n_devs], what --device told and the numbers. Texts live in mem. Fails:
 * BERTH_ENOMEM. */
berth_status berth_export_number_gpus(const berth_export_source *x, const char *before, const char **told,
                                      berth_arena *mem, berth_err *err);

/* What an engine does that puts all on one device. Nanoseconds of all operators there, one after the other;
 * -1: it cannot run all of them, or x has no problem. */
int64_t berth_export_time_on(const berth_export_source *x, int32_t dev);
/* op_dev [n_ops] of everything on dev; -1: *known is false. Returns BERTH_OK. */
berth_status berth_export_all_on(const berth_export_source *x, int32_t dev, int32_t *op_dev, bool *known);
/* Does everything on dev break no rule of x, which has a problem? op_dev [n_ops] and tmp are scratch, that
 * reset at exit. Fails: BERTH_ENOMEM. A simulation. */
berth_status berth_export_fits_on(const berth_export_source *x, int32_t dev, int32_t *op_dev,
                                  berth_arena *tmp, bool *fits, berth_err *err);

/* Does the text begin so? */
bool berth_export_begins(const char *text, const char *with);

/* What the device is called there: what --device told, else its name. */
const char *berth_export_called(const berth_export_source *x, int32_t dev);

/* What a plan is worth beside what the engine does when told nothing, and whether predictions can tell. */

typedef struct berth_export_gain {
	bool known;         /* the default is known, and both can be simulated */
	bool usual_fits;    /* the default breaks no rule */
	bool same;          /* the plan is the default: nothing can be off between them */
	bool serial;        /* priced as run one operator after the other, copies between them */
	double plan, usual; /* values of the objective */
	double gain;        /* 1 - plan / usual */
	double error;       /* how far predictions are off: the plan's or the default's, the larger */
	/* of the measurements behind it: their median, and how many they are (engine_errors.h) */
	double error_median;
	int32_t error_rows;
	bool keep;          /* keep the default: the gain is below the error */
	int32_t device;     /* that the default has everything on; -1: on several */
} berth_export_gain;

/* Seconds of all operators and of each tensor to each device that needs it, one after the other: how an
 * engine without overlap runs a placement [n_ops]. A sum of the simulator's own times. O(operators +
 * edges). */
double berth_export_serial(const berth_problem *p, const int32_t *op_dev);

/* Of x with a problem and a placement; plan: its value of the objective o. order NULL: the system's rule.
 * Where x has no problem, or e no default, known is false. The latency of a serial exporter's plans
 * is what its engine's way of running takes. mem and tmp are scratch, two arenas. Fails:
 * BERTH_ENOMEM. */
berth_status berth_export_gain_of(const berth_exporter *e, const berth_export_source *x,
                                  const berth_objective *o, double plan, berth_arena *mem, berth_arena *tmp,
                                  berth_export_gain *out, berth_err *err);
