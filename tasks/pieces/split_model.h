/* A model is cut for a machine: which operators, into which shares, and where the pieces go, by the search
 * over cuts. What comes out is the new model, its plan, and what the cuts of each type of operator gain. */
#pragma once

#include "cut_search.h"
#include "graph_format.h"

typedef struct berth_split_request {
	const berth_content *model;      /* its file */
	const berth_read_options *read;  /* how it was read */
	const berth_read_options *after; /* how the new model is read: without what is fixed in it */
	const char *outside;             /* as in pieces_options */
	const berth_system *s;
	const berth_graph *g;      /* the model's; it may have measured times */
	const berth_graph *ruled;  /* the same with rules (constraints.h); g where there are none */
	const berth_graph *placed; /* ruled, or its training step */
	const berth_training_options *training; /* of that step; NULL: the model itself is placed */
	const char *bound;                      /* of whole operators, as in search.h */
	const berth_method *method;
	const berth_search_cfg *cfg;
	berth_cut_told *told; /* may be NULL */
	void *ctx;            /* of told */
} berth_split_request;

typedef struct berth_split_answer {
	berth_problem p, placed; /* of the model's graph, and of what is placed */
	berth_bounds bounds;
	berth_cutting c;
	berth_cut_result r;
	berth_cut_gain *gain; /* [n_gains] where something is cut */
	int32_t n_gains;
	const berth_solution *best; /* of the best program, or of whole operators where these are better */
	int32_t replicas;           /* copies of weights in the answer's training step; 0: as ever */
	pieces_model made;          /* the new model; not set where best is not feasible */
} berth_split_answer;

/* Search, and make the best program; nothing is cut in it where whole operators are better. x lives in mem,
 * points into itself and borrows the request. tmp is scratch, another arena, reset at exit. Fails: as
 * berth_cut_search. */
berth_status berth_split_search(const berth_split_request *q, berth_arena *mem, berth_arena *tmp,
                                berth_split_answer *x, berth_err *err);

/* The plan of the answer as a placement file has it, for the graph `after` of the new model: text [size] in
 * mem. Fails: BERTH_ENOMEM. */
berth_status berth_split_plan(const berth_split_answer *x, const berth_graph *after, berth_arena *mem,
                              berth_arena *tmp, const char **text, size_t *size, berth_err *err);

/* What is written of a split, searched for or not. */
typedef struct berth_split_files {
	const pieces_model *made;
	const char *model; /* the file that was cut */
	const char *out;   /* the new model's */
	const char *data;  /* its new file of weights; may be NULL where made copies none */
	const char *plan;  /* NULL: none is wanted; else with the text [plan_size] */
	const char *plan_text;
	size_t plan_size;
} berth_split_files;

/* Write them all, or none. Weights are copied from files beside the model. Fails: BERTH_EFORMAT (the name of
 * one leads out of the model's folder), BERTH_EIO (one is missing or too short, or cannot be written),
 * BERTH_ENOMEM. */
berth_status berth_split_write(const berth_split_files *f, berth_arena *tmp, berth_err *err);

/* Do the two files, which need not be there, stand in different folders? Weights of their own are looked for
 * beside a model. Fails: BERTH_EIO (a folder is not there), BERTH_ENOMEM. */
berth_status berth_split_apart(const char *a, const char *b, berth_arena *tmp, bool *apart, berth_err *err);

/* The device of that operator of the new model; NULL: there is none of that name. O(operators). */
const char *berth_split_device(const berth_split_answer *x, const char *piece);
