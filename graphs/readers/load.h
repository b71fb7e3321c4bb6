/* A graph from whatever names one: "zoo:NAME[:key=value...]", a file with words of the same kind behind its
 * name, or a module of a Python file. Files are of the formats of the table in load.c.
 * Words of an ONNX model are symbolic dimensions, those of a GGUF model are options of gguf.h, those of a
 * task graph are options of tasks.h. */
#pragma once

#include "graph_format.h"

/* The format of a file, by its first bytes, whatever the file is called. What is no text is ONNX at best;
 * text is berth-graph's JSON at best. */
const berth_format *berth_format_of(const char *data, size_t size);

/* Its format if that was settled before, else by its bytes. */
const berth_format *berth_content_format(const berth_content *c);

/* A file into out (name, data, size): text into memory of this process; what is no text stays in the file, as
 * it takes gigabytes, and its format is settled. Undo with berth_graph_unmap. Fails: BERTH_EIO, BERTH_ENOMEM.
 */
berth_status berth_graph_map(const char *path, berth_content *out, berth_err *err);
void berth_graph_unmap(const berth_content *c);

/* Does spec name the file of a model, which can be looked into: no model of the zoo, and no module? */
bool berth_graph_is_file(const char *spec);

/* The file that spec names, without the words behind it; of a model folder its config.json, of a module the
 * Python file. In mem; NULL when memory runs out. */
const char *berth_graph_path(const char *spec, berth_arena *mem);

/* The file of spec (FILE.py:FACTORY of a module), and opt (may be NULL) with the words of spec behind its
 * own, in mem. Fails: BERTH_ENOMEM, BERTH_EIO: nobody can tell whether a file of the whole name is there. */
berth_status berth_graph_split(const char *spec, const berth_read_options *opt, berth_arena *mem,
                               const char **path, berth_read_options *out, berth_err *err);

/* The graph in data[size], of any format. name stands for it in messages.
 *   opt     may be NULL. Words that the format does not know are an error.
 *   report  what reading found. May be NULL.
 *   mem     holds the graph
 *   tmp     scratch, another arena than mem, reset at exit
 * Fails: BERTH_EINVAL (a bad word), BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status berth_graph_parse(const char *name, const char *data, size_t size, const berth_read_options *opt,
                               berth_arena *mem, berth_arena *tmp, berth_graph *out,
                               berth_read_report *report, berth_err *err);

/* The same of mapped files; opt->sandbox: in a sandbox. No word may be NULL, and tmp is not
 * reset. */
berth_status berth_graph_parse_content(const berth_content *from, const berth_read_options *opt,
                                       berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                       berth_read_report *report, berth_err *err);

/* Reading path has failed. Where nothing is there but a model of the zoo is called so, or nearly, err says
 * that. Returns failed. */
berth_status berth_graph_missing(const char *path, berth_status failed, berth_err *err);

/* The file that spec names as berth_graph_map has it, and the files that it goes on in. words: opt (may be
 * NULL) with the words of spec. Names live in mem. Undo with berth_model_unmap. Fails: BERTH_EINVAL (a
 * module), BERTH_EIO, BERTH_EFORMAT (a further file), BERTH_ENOMEM. */
berth_status berth_model_map(const char *spec, const berth_read_options *opt, berth_arena *mem,
                             berth_content *out, berth_read_options *words, berth_err *err);
void berth_model_unmap(const berth_content *c);

/* One that is undone where its block ends. */
#define BERTH_MODEL(name) berth_content name __attribute__((unused, cleanup(berth_model_unmap))) = {0}

/* The graph that spec names. A file is mapped, so that only what the reader looks at is read. opt holds
 * words as if they stood in spec. The rest is as above. Also fails: BERTH_EINVAL (a bad zoo spec),
 * BERTH_EIO. */
berth_status berth_graph_load(const char *spec, const berth_read_options *opt, berth_arena *mem,
                              berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err);

/* What the child answers: the graph as canonical JSON, a line break, and what the reader found, in mem. */
berth_status berth_graph_to_text(const berth_graph *g, const berth_read_report *r, berth_arena *mem,
                                 const char **text, size_t *size, berth_err *err);

/* Graph and report from such a text; name stands in messages. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status berth_graph_from_text(const char *name, const char *text, size_t size, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                   berth_err *err);

/* berth_format's parse of `from`, whatever its format is, in the sandbox opt->sandbox. The graph and the
 * report are the same to the bit: they come as canonical JSON, which this process reads. Further parts are
 * those of `from`: the child opens none. Fails: as reading does; berth_sandbox_run. */
berth_status berth_graph_parse_apart(const berth_content *from, const berth_read_options *opt,
                                     berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                     berth_read_report *report, berth_err *err);

/* Bytes of the file's name in a spec of that form; 0: it is none. Nothing is looked for on the disk. */
size_t berth_module_file_length(const char *spec);
