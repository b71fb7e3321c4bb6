/* What readers of engines' choices share. Inside of plans/import. */
#ifndef BERTH_IMPORT_READING_H
#define BERTH_IMPORT_READING_H

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

/* One that has to be. Always fails: BERTH_EFORMAT, with the nearest. what: "operator". */
berth_status berth_import_refuse(const berth_import *m, const char *what, const char *name, berth_err *err);

/* Names by which programs know the nodes of an ONNX model beside those of its operators: what nodes are
 * called, and what they make. Nothing where the model is none. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status berth_import_onnx_names(berth_import *m, berth_err *err);

/* dev [n_words] of the words. Fails: BERTH_EINVAL (a word that was told for two devices, or that the file
 * does not name), BERTH_EFORMAT (a device that the system does not have: what it has, and what the file
 * names; a guess that takes the device of another word). O(n_words^2). */
berth_status berth_import_devices(const berth_import *m, berth_import_device *device, berth_err *err);

/* Give operators without a word (op_dev -1) the device of a neighbour, and count them. tmp is scratch. */
void berth_import_fill(const berth_importer *from, const berth_graph *g, berth_import_plan *plan);

/* The first character that is no blank; 0: there is none. */
char berth_import_first(const char *text, size_t size);

#endif
