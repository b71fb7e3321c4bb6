/* What a child process answers (sandbox.h), as bytes: one function tells what there is to send, and by it
 * both sides go: the child writes, the parent reads. Whoever reads doubts: what is missing reads as nothing,
 * and `bad` says so. Numbers may be any, and are for the caller to check. */
#pragma once

#include "arena.h"
#include "file.h"
#include "text.h"

typedef struct berth_wire {
	berth_strbuf to;  /* writing */
	const char *from; /* reading: [size], what is left; NULL: it writes */
	size_t size;
	berth_arena *mem; /* of what is read */
	bool bad;         /* less came than was announced, or there was no memory for it: */
	bool starved;
} berth_wire;

/* Write into mem; read data[size] into mem. */
berth_wire berth_wire_writer(berth_arena *mem);
berth_wire berth_wire_reader(const char *data, size_t size, berth_arena *mem);

/* Plain values: numbers, and structs of them. */
void berth_wire_raw(berth_wire *w, void *x, size_t n);
#define BERTH_WIRE(w, x) berth_wire_raw(w, &(x), sizeof(x))

/* A text, or NULL. */
void berth_wire_text(berth_wire *w, const char **x);

/* *n items of `item` bytes each, of a list that is to be gone through with BERTH_WIRE and its kin. Reading: a
 * list of zeros that is at hand as *list. */
void berth_wire_list(berth_wire *w, void *list, int32_t *n, size_t item);

/* Pieces of a file: those that stand in base[size], which both sides have, go as their place. */
void berth_wire_pieces(berth_wire *w, berth_file_piece **piece, size_t *n, const void *base, size_t size);

/* What was written. Fails: BERTH_ENOMEM. */
berth_status berth_wire_done(berth_wire *w, const char **data, size_t *size, berth_err *err);
/* All was read, and nothing is left. Fails: BERTH_ENOMEM; BERTH_EIO, naming file. */
berth_status berth_wire_whole(const berth_wire *w, const char *file, berth_err *err);
