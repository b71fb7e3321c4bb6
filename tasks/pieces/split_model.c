/* What stands around the search over cuts: problems, bounds and the model's bytes before it, the new model,
 * its gains, its plan and its files behind it. */
#include "split_model.h"

#include "beneath.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static berth_status open_problems(const berth_split_request *q, berth_arena *mem, berth_arena *tmp,
                                  berth_split_answer *x, berth_err *err)
{
	berth_bound_options bound = berth_solve_bound(q->bound, q->cfg);
	pieces_source *source;
	BERTH_TRY(berth_problem_new(q->g, q->s, mem, tmp, &x->p, err));
	BERTH_TRY(berth_problem_new(q->placed, q->s, mem, tmp, &x->placed, err));
	BERTH_TRY(berth_search_bounds(&x->placed, &bound, tmp, &x->bounds, err));
	BERTH_TRY(pieces_open(q->model->name, (const unsigned char *)q->model->data, q->model->size, q->read,
	                      mem, &source, err));
	x->c = (berth_cutting){.name = q->model->name,
	                       .source = source,
	                       .after = q->after,
	                       .outside = q->outside,
	                       .p = &x->p,
	                       .placed = &x->placed,
	                       .ruled = q->ruled->plain ? q->ruled : NULL,
	                       .training = q->training,
	                       .objective = q->cfg->objective};
	return berth_cutting_open(&x->c, mem, err);
}

/* Nobody asked for what is cut in the answer. */
static berth_status make_model(berth_split_answer *x, berth_arena *mem, berth_err *err)
{
	const pieces_options nothing = {.n_asks = 0};
	if (!x->r.gains)
		return pieces_cut_source(x->c.source, &nothing, mem, &x->made, err);
	x->made = x->r.cut.program->made;
	x->made.n_asked = 0;
	x->replicas = x->r.cut.program->replicas;
	return BERTH_OK;
}

berth_status berth_split_search(const berth_split_request *q, berth_arena *mem, berth_arena *tmp,
                                berth_split_answer *x, berth_err *err)
{
	*x = (berth_split_answer){0};
	BERTH_TRY(open_problems(q, mem, tmp, x, err));
	BERTH_TRY(berth_cut_search(&x->c, &x->bounds, q->method, q->cfg, q->told, q->ctx, mem, tmp, &x->r,
	                           err));
	x->best = x->r.gains ? &x->r.cut.r : &x->r.whole;
	if (!x->best->feasible)
		return BERTH_OK;
	BERTH_TRY(make_model(x, mem, err));
	if (!x->r.gains || x->r.interrupted) /* then at once */
		return BERTH_OK;
	return berth_cut_explain(&x->c, &x->r, mem, tmp, &x->gain, &x->n_gains, err);
}

berth_status berth_split_plan(const berth_split_answer *x, const berth_graph *after, berth_arena *mem,
                              berth_arena *tmp, const char **text, size_t *size, berth_err *err)
{
	const berth_system *s = x->p.s;
	berth_placement plan;
	berth_graph step;
	if (x->c.training) {
		berth_training_options opt = *x->c.training;
		opt.replicas = x->replicas;
		BERTH_TRY(berth_graph_training(after, &opt, mem, tmp, &step, err));
		after = &step;
	}
	BERTH_TRY(berth_placement_new(after, s, mem, tmp, &plan, err));
	BERTH_TRY(berth_solution_tell(x->best, mem, &plan, err));
	return berth_placement_write_json(&plan, after, s, true, mem, text, size, err);
}

const char *berth_split_device(const berth_split_answer *x, const char *piece)
{
	int32_t op = berth_graph_find(&x->r.cut.program->g, piece);
	return op < 0 ? NULL : x->p.s->dev_name[x->r.cut.r.op_dev[op]];
}

/* ---- the new file of weights ---- */

enum { BLOCK = 1 << 20 };

typedef struct copying {
	const pieces_model *p;
	int *from;      /* [n_copies] open files */
	char *block;    /* [BLOCK] */
	int32_t failed; /* the copy whose file cannot be read; -1: none */
} copying;

/* Bytes from one place of a file to where the draft stands. 0, or -1 and errno; -2: reading failed. */
static int copy_bytes(const copying *c, int from, berth_draft *to, int64_t at, int64_t bytes)
{
	while (bytes > 0) {
		ssize_t n = pread(from, c->block, bytes < BLOCK ? (size_t)bytes : BLOCK, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -2;
		if (berth_draft_write(to, c->block, (size_t)n) != 0)
			return -1;
		at += n;
		bytes -= n;
	}
	return 0;
}

/* Copy what the new model names, from files beside the old one: a block at a time, as they may be larger than
 * memory. */
static int write_weights(copying *c, berth_draft *to)
{
	for (int32_t i = 0; i < c->p->n_copies; i++) {
		const pieces_copy *p = &c->p->copy[i];
		for (int64_t row = 0; row < p->rows; row++) {
			int bad = copy_bytes(c, c->from[i], to, p->at + row * p->stride, p->bytes);
			if (bad == -2)
				c->failed = i;
			if (bad)
				return -1;
		}
	}
	return 0;
}

/* All that is to be copied is there: it is known before anything is written. */
static berth_status check_copy(const char *model, const pieces_copy *p, int from, berth_err *err)
{
	struct stat st;
	int64_t end;
	if (fstat(from, &st) != 0)
		return berth_file_fail(err, "look at", p->from);
	bool whole = p->at >= 0 && p->rows >= 0 && p->bytes >= 0 && (p->rows < 2 || p->stride >= p->bytes) &&
	             !__builtin_mul_overflow(p->rows > 0 ? p->rows - 1 : 0, p->stride, &end) &&
	             !__builtin_add_overflow(end, p->bytes, &end) &&
	             !__builtin_add_overflow(end, p->at, &end);
	if (whole && (p->rows == 0 || end <= st.st_size))
		return BERTH_OK;
	return berth_fail(err, BERTH_EIO,
	                  "%s: weights in '%s': the model says that they end at byte %lld, and the file has "
	                  "%lld",
	                  model, p->from, (long long)(whole ? end : INT64_MAX), (long long)st.st_size);
}

static berth_status open_sources(copying *c, const char *model, berth_arena *tmp, berth_err *err)
{
	const pieces_model *p = c->p;
	if (!p->n_copies)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, p->n_copies, err, c->from);
	BERTH_TRY_NEW(tmp, BLOCK, err, c->block);
	for (int32_t i = 0; i < p->n_copies; i++)
		c->from[i] = -1;
	for (int32_t i = 0; i < p->n_copies; i++) {
		for (int32_t j = 0; j < i && c->from[i] < 0; j++)
			if (strcmp(p->copy[j].from, p->copy[i].from) == 0)
				c->from[i] = c->from[j];
		if (c->from[i] < 0)
			BERTH_TRY(berth_beneath_open(BERTH_READS_WEIGHTS, model, p->copy[i].from,
			                             &c->from[i], err));
		BERTH_TRY(check_copy(model, &p->copy[i], c->from[i], err));
	}
	return BERTH_OK;
}

/* ---- all files ---- */

/* They are written in this order, and take their names in the other one: a model whose weights or plan are
 * missing is nowhere to be seen. */
enum { MODEL, PLAN, WEIGHTS, N_FILES };

static int write_one(const berth_split_files *f, int which, copying *c, berth_draft *to)
{
	const pieces_model *p = f->made;
	int bad = 0;
	if (which == PLAN)
		return berth_draft_write(to, f->plan_text, f->plan_size);
	if (which == WEIGHTS)
		return write_weights(c, to);
	for (size_t i = 0; i < p->n_pieces && !bad; i++)
		bad = berth_draft_write(to, p->piece[i].data, p->piece[i].size);
	return bad;
}

static berth_status write_all(const berth_split_files *f, copying *c, berth_draft draft[N_FILES], int *n,
                              berth_err *err)
{
	const char *const path[N_FILES] = {f->out, f->plan, c->p->n_copies ? f->data : NULL};
	for (int i = 0; i < N_FILES; i++) {
		berth_draft *d = &draft[N_FILES - 1 - *n];
		if (!path[i])
			continue;
		BERTH_TRY(berth_draft_open(path[i], true, d, err));
		++*n;
		if (write_one(f, i, c, d) == 0)
			continue;
		if (c->failed < 0)
			return berth_file_fail(err, "write", path[i]);
		return berth_fail(err, BERTH_EIO,
		                  "%s: weights in '%s': the file cannot be read, or is shorter than the "
		                  "model says",
		                  f->model, c->p->copy[c->failed].from);
	}
	return BERTH_OK;
}

berth_status berth_split_write(const berth_split_files *f, berth_arena *tmp, berth_err *err)
{
	copying c = {.p = f->made, .failed = -1};
	berth_draft draft[N_FILES];
	int n = 0;
	berth_status st = open_sources(&c, f->model, tmp, err);
	if (st == BERTH_OK)
		st = write_all(f, &c, draft, &n, err);
	for (int32_t i = 0; c.from && i < c.p->n_copies; i++) {
		bool first = c.from[i] >= 0;
		for (int32_t j = 0; j < i; j++)
			first = first && c.from[j] != c.from[i];
		if (first)
			close(c.from[i]);
	}
	if (st == BERTH_OK)
		return berth_drafts_keep(draft + N_FILES - n, n, err);
	for (int i = N_FILES - n; i < N_FILES; i++)
		berth_draft_drop(&draft[i]);
	return st;
}

static berth_status look_at_folder(const char *path, berth_arena *tmp, struct stat *st, berth_err *err)
{
	const char *slash = strrchr(path, '/');
	const char *folder = berth_arena_printf(tmp, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path);
	BERTH_TRY(berth_got(folder, err));
	return stat(folder, st) == 0 ? BERTH_OK
	                             : berth_fail(err, BERTH_EIO, "%s: %s", folder, strerror(errno));
}

berth_status berth_split_apart(const char *a, const char *b, berth_arena *tmp, bool *apart, berth_err *err)
{
	struct stat of_a, of_b;
	BERTH_TRY(look_at_folder(a, tmp, &of_a, err));
	BERTH_TRY(look_at_folder(b, tmp, &of_b, err));
	*apart = of_a.st_dev != of_b.st_dev || of_a.st_ino != of_b.st_ino;
	return BERTH_OK;
}
