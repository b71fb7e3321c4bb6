/* What readers of engines' choices share. Inside of plans/import. */
#pragma once

#include "importers.h"
#include "text.h"

enum { BERTH_IMPORT_MOST_WORDS = 1024 }; /* words for devices in a file */

/* A file being read. */
struct berth_import {
	const berth_import_source *x;
	berth_arena *mem, *tmp; /* tmp: to the end of the reading */
	berth_strmap ops;       /* names of operators; readers may add others that mean one */
	int32_t *op_word;       /* [n_ops] -1: not told */
	berth_strmap words, unknowns;
	const char **word; /* [n_words] */
	int32_t *word_ops; /* [n_words] operators */
	int32_t n_words, n_unknown;
	size_t cap_word, cap_ops;
	const char *unknown, *note;
};

enum { BERTH_IMPORT_NO_OP = -2 }; /* in ops: a name of the model that is no operator of the graph */

/* The word's number; it is copied where it is new. Fails: BERTH_EFORMAT (more than MOST_WORDS, or an empty
 * one), BERTH_ENOMEM. */
berth_status berth_import_word(berth_import *m, const char *word, int32_t *at, berth_err *err);

/* The operator stands on the word's device. Fails: BERTH_EFORMAT (it was told to be elsewhere). */
berth_status berth_import_tell(berth_import *m, int32_t op, int32_t word, berth_err *err);

/* A name that is none of the graph, and need not be. Fails: BERTH_EFORMAT (they are too many), BERTH_ENOMEM.
 */
berth_status berth_import_pass(berth_import *m, const char *name, berth_err *err);

/* Operators that a word was told of. O(ops). */
int32_t berth_import_n_told(const berth_import *m);

/* Of the names of the file so many are operators, and too many others are not for this to be its model? An
 * engine's own nodes are at most twice those that it has from the graph: with all of its fusions ONNX Runtime
 * was seen to have 1.1 times as many, of a Transformer. Fails: BERTH_EFORMAT. */
berth_status berth_import_check_model(const berth_import *m, int32_t n_named, berth_err *err);

/* One that has to be. Always fails: BERTH_EFORMAT, with the nearest. what: "operator". */
berth_status berth_import_refuse(const berth_import *m, const char *what, const char *name, berth_err *err);

/* Names by which programs know the nodes of an ONNX model beside those of its operators: what nodes are
 * called, and what they make. Nothing where the model is none. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status berth_import_onnx_names(berth_import *m, berth_err *err);

/* dev [n_words] of the words. Fails: BERTH_EINVAL (a word that was told for two devices, or that the file
 * does not name), BERTH_EFORMAT (a device that the system does not have: what it has, and what the file
 * names; a guess that takes the device of another word). O(n_words^2). */
berth_status berth_import_devices(const berth_import *m, berth_import_device *device, berth_err *err);

/* Give operators without a word (op_dev -1) the device of a neighbour, and count them. mem and tmp are
 * scratch. Fails: BERTH_ENOMEM. */
berth_status berth_import_fill(const berth_importer *from, const berth_graph *g, berth_import_plan *plan,
                               berth_arena *mem, berth_arena *tmp, berth_err *err);

/* The first character that is no blank; 0: there is none. */
char berth_import_first(const char *text, size_t size);

/* JSON objects of names and devices, which several programs have. Inside of plans/import. */

/* What such an object looks like. */
typedef enum import_map_kind {
	IMPORT_NO_MAP,    /* no object of words and numbers, or an empty one */
	IMPORT_TORCH_MAP, /* numbers, or words in lower case: "cpu", "disk", "cuda:1" */
	IMPORT_OTHER_MAP  /* words */
} import_map_kind;

/* Fails: BERTH_ENOMEM. */
berth_status import_map_look(const char *text, size_t size, import_map_kind *kind, berth_err *err);

/* A member: the name and the number of its word. */
typedef berth_status import_map_visit(void *ctx, const char *name, int32_t word, berth_err *err);

/* Visit each member of m's text. Fails: BERTH_EFORMAT (no such object; a name that is there twice is none of
 * ours to tell), BERTH_ENOMEM, as visit. */
berth_status import_map_each(berth_import *m, import_map_visit *visit, void *ctx, berth_err *err);
