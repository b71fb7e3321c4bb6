/* The pairs of a training: each graph of the command line on each of its systems, or those that a file
 * lists. */
#ifndef BERTH_CLI_TRAIN_ITEMS_H
#define BERTH_CLI_TRAIN_ITEMS_H

#include "cli.h"

typedef struct train_items {
	const cli *c;
	const cli_texts *on;      /* systems of the command line */
	const char **graph, **system; /* [n] of the file; NULL: there is none */
	int32_t n;
} train_items;

/* file NULL: what the command line says. Else a pair a line, "GRAPH SYSTEM"; what follows a # is a comment.
 * Fails: BERTH_EINVAL (a file beside graphs or systems of the command line, or neither; too many), and with
 * the line BERTH_EFORMAT; BERTH_EIO, BERTH_ENOMEM. */
berth_status train_items_open(cli *c, const char *file, const cli_texts *on, train_items *out,
                              berth_err *err);

/* Pair i in words; *system NULL: that of the workload. */
void train_items_words(const train_items *x, int32_t i, const char **graph, const char **system);

#endif
