/* See workflow.h. Jobs, files and their uses stand in columns, which take few bytes beside the text that they
 * come from. */
#include "workflow.h"

#include "sort.h"

#include <math.h>

/* Of jobs, beside what the builder holds of them: seconds, bytes. */
enum { JOB_RUNTIME, JOB_READ, JOB_WRITE, JOB_LEAVE, JOB_COLUMNS };
/* Of files. Producer: the first job that makes it + 1; 0: it comes from outside. Last user: the job that was
 * counted last, + 1. Size: bytes, by a producer, else the largest that a reader says. */
enum { FILE_NAME, FILE_PRODUCER, FILE_LAST_USER, FILE_SIZE, FILE_FLAGS, FILE_COLUMNS };
enum { FILE_SIZED = 1, FILE_TAKEN = 2, FILE_SHARED = 4 }; /* by a producer; by a job; by more producers */
/* Inputs of jobs, children with their parents, further makers of a file. */
enum { LINK_JOB, LINK_OTHER, LINK_COLUMNS };

enum { MOST_ROWS = INT32_MAX / 4, MOST_SHARED = 1 << 17 };

static const char *file_name(const void *files, int32_t i)
{
	return columns_text(files, FILE_NAME, (size_t)i);
}

berth_status workflow_begin(workflow *w, const task_graph *t, const char *file)
{
	static const unsigned char job_width[JOB_COLUMNS] = {8, 8, 8, 8},
				   file_width[FILE_COLUMNS] = {sizeof(char *), 4, 4, 8, 1},
				   link_width[LINK_COLUMNS] = {4, 4};
	*w = (workflow){.t = *t};
	columns_init(&w->job, t->tmp, job_width, JOB_COLUMNS);
	columns_init(&w->file, t->tmp, file_width, FILE_COLUMNS);
	columns_init(&w->use, t->tmp, link_width, LINK_COLUMNS);
	columns_init(&w->pair, t->tmp, link_width, LINK_COLUMNS);
	columns_init(&w->maker, t->tmp, link_width, LINK_COLUMNS);
	berth_name_index_init(&w->files, t->tmp, file_name, &w->file);
	BERTH_TRY(task_graph_new(&w->t, file));
	return berth_builder_reserve(w->t.b, 0, t->err); /* texts are kept here */
}

/* ---- what is told ---- */

berth_status workflow_job(workflow *w, const berth_op_spec *spec, int32_t *job)
{
	BERTH_TRY(berth_builder_op(w->t.b, spec, job, w->t.err));
	return columns_add(&w->job, w->t.err);
}

berth_status workflow_runtime(workflow *w, int32_t job, double runtime)
{
	w->n_before += runtime < 0;
	runtime = runtime < 0 ? 0 : runtime;
	BERTH_TRY(task_graph_check_time(&w->t, job, runtime));
	return columns_set_double(&w->job, JOB_RUNTIME, (size_t)job, runtime, w->t.err);
}

berth_status workflow_file(workflow *w, const char *name, size_t *file)
{
	int32_t found = berth_name_index_get(&w->files, name);
	*file = found < 0 ? w->file.n_rows : (size_t)found;
	if (found >= 0)
		return BERTH_OK;
	if (*file == MOST_ROWS)
		return berth_fail(w->t.err, BERTH_EFORMAT, "more than %d files", MOST_ROWS);
	BERTH_TRY(berth_got(name = berth_arena_strdup(w->t.tmp, name), w->t.err));
	BERTH_TRY(columns_add(&w->file, w->t.err));
	BERTH_TRY(columns_set_text(&w->file, FILE_NAME, *file, name, w->t.err));
	return berth_name_index_add(&w->files, NULL, w->t.err);
}

static unsigned char flags_of(const workflow *w, size_t file)
{
	return columns_byte(&w->file, FILE_FLAGS, file);
}

static berth_status set_flag(workflow *w, size_t file, unsigned char flag)
{
	return columns_set_byte(&w->file, FILE_FLAGS, file, flags_of(w, file) | flag, w->t.err);
}

static berth_status add_link(workflow *w, columns *list, int32_t job, int32_t other)
{
	size_t row = list->n_rows;
	if (row == MOST_ROWS)
		return berth_fail(w->t.err, BERTH_EFORMAT, "more than %d inputs or parents", MOST_ROWS);
	BERTH_TRY(columns_add(list, w->t.err));
	BERTH_TRY(columns_set_int(list, LINK_JOB, row, job, w->t.err));
	return columns_set_int(list, LINK_OTHER, row, other, w->t.err);
}

static double known_size(workflow *w, size_t file, double size)
{
	if (!(size < 0))
		return size;
	if (!w->n_negative++)
		w->negative = columns_text(&w->file, FILE_NAME, file);
	return 0;
}

berth_status workflow_size(workflow *w, size_t file, double size)
{
	size = known_size(w, file, size);
	if (isnan(size))
		return BERTH_OK;
	BERTH_TRY(columns_set_double(&w->file, FILE_SIZE, file, size, w->t.err));
	return set_flag(w, file, FILE_SIZED);
}

berth_status workflow_output(workflow *w, int32_t job, size_t file, double size)
{
	int32_t producer = columns_int(&w->file, FILE_PRODUCER, file) - 1;
	size_t last = w->maker.n_rows;
	bool again = last && columns_int(&w->maker, LINK_JOB, last - 1) == job &&
	             columns_int(&w->maker, LINK_OTHER, last - 1) == (int32_t)file;
	if (producer < 0)
		BERTH_TRY(columns_set_int(&w->file, FILE_PRODUCER, file, job + 1, w->t.err));
	if (producer >= 0 && producer != job && !again) {
		if (!(flags_of(w, file) & FILE_SHARED) && !w->n_shared++)
			w->shared = columns_text(&w->file, FILE_NAME, file);
		BERTH_TRY(set_flag(w, file, FILE_SHARED));
		BERTH_TRY(add_link(w, &w->maker, job, (int32_t)file));
	}
	return workflow_size(w, file, size);
}

berth_status workflow_input(workflow *w, int32_t job, size_t file, double size)
{
	bool sized = flags_of(w, file) & FILE_SIZED;
	size = known_size(w, file, size);
	if (!sized && !isnan(size) && size > columns_double(&w->file, FILE_SIZE, file))
		BERTH_TRY(columns_set_double(&w->file, FILE_SIZE, file, size, w->t.err));
	return add_link(w, &w->use, job, (int32_t)file);
}

berth_status workflow_parent(workflow *w, int32_t child, int32_t parent)
{
	return add_link(w, &w->pair, child, parent);
}

/* ---- the graph ---- */

static berth_status add_bytes(workflow *w, int column, int32_t job, double bytes)
{
	size_t row = (size_t)job;
	return columns_set_double(&w->job, column, row, columns_double(&w->job, column, row) + floor(bytes),
	                          w->t.err);
}

static int32_t producer_of(const workflow *w, int32_t file)
{
	return columns_int(&w->file, FILE_PRODUCER, (size_t)file) - 1;
}

static double size_of(const workflow *w, int32_t file)
{
	return columns_double(&w->file, FILE_SIZE, (size_t)file);
}

/* Further makers of a file, in their order. */
typedef struct makers {
	int32_t *off, *job; /* [n_files + 1], NULL: no file has any */
} makers;

static berth_status list_makers(const workflow *w, makers *m)
{
	int32_t *file, *job, n = (int32_t)w->maker.n_rows;
	if (!n)
		return BERTH_OK;
	BERTH_TRY_NEW(w->t.tmp, n, w->t.err, file, job);
	for (int32_t i = 0; i < n; i++) {
		file[i] = columns_int(&w->maker, LINK_OTHER, (size_t)i);
		job[i] = columns_int(&w->maker, LINK_JOB, (size_t)i);
	}
	return berth_csr_new((int32_t)w->file.n_rows, n, file, job, w->t.tmp, &m->off, &m->job, w->t.err);
}

/* Maker k of the file, by their order; -1: it has no more. */
static int32_t maker_of(const workflow *w, const makers *m, int32_t file, int32_t k)
{
	if (k == 0 || !m->off)
		return k ? -1 : producer_of(w, file);
	return k <= m->off[file + 1] - m->off[file] ? m->job[m->off[file] + k - 1] : -1;
}

/* The k-th job that makes the file before the job takes it: all that do, or those before itself; -1: no
 * more. */
static int32_t giver_of(const workflow *w, const makers *m, int32_t job, int32_t file, int32_t k)
{
	int32_t from = maker_of(w, m, file, k);
	return from == job ? -1 : from;
}

static berth_status put_job(workflow *w, int32_t op)
{
	berth_op_spec spec;
	size_t job = (size_t)op;
	double read = columns_double(&w->job, JOB_READ, job), write = columns_double(&w->job, JOB_WRITE, job);
	berth_builder_get(w->t.b, op, &spec);
	if (read > 0x1p53 || write > 0x1p53)
		return berth_fail(w->t.err, BERTH_EFORMAT,
		                  "the files of job '%.80s' have more than 2^53 bytes together", spec.name);
	spec.read_bytes = (int64_t)read;
	spec.write_bytes = (int64_t)write;
	spec.output_bytes = (int64_t)columns_double(&w->job, JOB_LEAVE, job);
	BERTH_TRY(berth_builder_set(w->t.b, op, &spec, w->t.err));
	return task_graph_time(&w->t, op, columns_double(&w->job, JOB_RUNTIME, job), false);
}

/* Files become tensors. Uses stand job by job; use_off [n_jobs + 1]: where those of a job begin. */
static berth_status put_files(workflow *w, const makers *m, int32_t *use_off)
{
	int32_t n_shared = 0;
	for (size_t i = 0; i < w->use.n_rows; i++) {
		int32_t job = columns_int(&w->use, LINK_JOB, i), from;
		int32_t file = columns_int(&w->use, LINK_OTHER, i);
		use_off[job + 1]++;
		for (int32_t k = 0; (from = giver_of(w, m, job, file, k)) >= 0; k++) {
			n_shared += k > 0;
			if (n_shared > MOST_SHARED)
				return berth_fail(w->t.err, BERTH_EFORMAT,
				                  "files that several jobs make stand for more than %d edges",
				                  MOST_SHARED);
			BERTH_TRY(berth_builder_edge(w->t.b, from, job, (int64_t)size_of(w, file),
			                             file_name(&w->file, file), w->t.err));
		}
	}
	berth_csr_begin(use_off, w->job.n_rows);
	return BERTH_OK;
}

/* Stated pairs that no file joins. last [n_jobs]: the last child that a job was seen to be before, + 1. */
static berth_status put_parents(workflow *w, const makers *m, int32_t child, const int32_t *pair, int32_t n,
                                const int32_t *use_off, int32_t *last)
{
	for (int32_t i = n ? use_off[child] : 0; i < (n ? use_off[child + 1] : 0); i++) {
		int32_t file = columns_int(&w->use, LINK_OTHER, (size_t)i), from;
		for (int32_t k = 0; (from = giver_of(w, m, child, file, k)) >= 0; k++)
			last[from] = child + 1;
	}
	for (int32_t i = 0; i < n; i++) {
		int32_t parent = columns_int(&w->pair, LINK_OTHER, (size_t)pair[i]);
		if (last[parent] != child + 1)
			BERTH_TRY(berth_builder_edge(w->t.b, parent, child, 0, NULL, w->t.err));
		last[parent] = child + 1;
	}
	return BERTH_OK;
}

static berth_status put_pairs(workflow *w, const makers *m, const int32_t *use_off)
{
	size_t n_jobs = w->job.n_rows, n = w->pair.n_rows;
	int32_t *last, *off, *pair;
	BERTH_TRY_NEW(w->t.tmp, n_jobs, w->t.err, last);
	BERTH_TRY_NEW(w->t.tmp, n_jobs + 2, w->t.err, off);
	BERTH_TRY_NEW(w->t.tmp, n, w->t.err, pair);
	for (size_t i = 0; i < n; i++)
		off[columns_int(&w->pair, LINK_JOB, i) + 2]++;
	for (size_t i = 0; i < n_jobs; i++)
		off[i + 2] += off[i + 1];
	for (size_t i = 0; i < n; i++)
		pair[off[columns_int(&w->pair, LINK_JOB, i) + 1]++] = (int32_t)i;
	for (size_t i = 0; i < n_jobs; i++)
		BERTH_TRY(put_parents(w, m, (int32_t)i, pair + off[i], off[i + 1] - off[i], use_off, last));
	return BERTH_OK;
}

static berth_status warn(const workflow *w)
{
	if (w->n_shared)
		BERTH_TRY(task_graph_warn(&w->t,
		                          "files made by several jobs: %d ('%.80s'); who takes one waits for "
		                          "all that make it", w->n_shared, w->shared));
	if (w->n_before)
		BERTH_TRY(task_graph_warn(&w->t, "runtimes below 0: %d; taken for 0", w->n_before));
	return w->n_negative ? task_graph_warn(&w->t, "sizes of files below 0: %d ('%.80s'); taken for 0",
	                                       w->n_negative, w->negative)
	                     : BERTH_OK;
}

static berth_status put_all(workflow *w)
{
	int32_t *use_off;
	makers m = {NULL, NULL};
	BERTH_TRY(warn(w));
	BERTH_TRY(list_makers(w, &m));
	/* Inputs of the jobs in bytes; what a job names twice counts once, what it makes first itself is no
	 * input. */
	size_t n = 0;
	for (size_t i = 0; i < w->use.n_rows; i++) {
		int32_t job = columns_int(&w->use, LINK_JOB, i), file = columns_int(&w->use, LINK_OTHER, i);
		if (columns_int(&w->file, FILE_LAST_USER, (size_t)file) - 1 == job ||
		    producer_of(w, file) == job)
			continue;
		BERTH_TRY(columns_set_int(&w->file, FILE_LAST_USER, (size_t)file, job + 1, w->t.err));
		BERTH_TRY(set_flag(w, (size_t)file, FILE_TAKEN));
		BERTH_TRY(add_bytes(w, JOB_READ, job, size_of(w, file)));
		BERTH_TRY(columns_set_int(&w->use, LINK_JOB, n, job, w->t.err));
		BERTH_TRY(columns_set_int(&w->use, LINK_OTHER, n++, file, w->t.err));
	}
	columns_cut(&w->use, n);
	for (size_t i = 0; i < w->file.n_rows; i++) {
		double size = size_of(w, (int32_t)i);
		int32_t job;
		for (int32_t k = 0; (job = maker_of(w, &m, (int32_t)i, k)) >= 0; k++) {
			BERTH_TRY(add_bytes(w, JOB_WRITE, job, size));
			if (!(flags_of(w, i) & FILE_TAKEN))
				BERTH_TRY(add_bytes(w, JOB_LEAVE, job, size));
		}
	}
	for (size_t i = 0; i < w->job.n_rows; i++)
		BERTH_TRY(put_job(w, (int32_t)i));
	BERTH_TRY_NEW(w->t.tmp, w->job.n_rows + 1, w->t.err, use_off);
	BERTH_TRY(put_files(w, &m, use_off));
	if (w->pair.n_rows)
		BERTH_TRY(put_pairs(w, &m, use_off));
	berth_name_index_drop(&w->files);
	columns_drop_all(&w->job);
	columns_drop_all(&w->file);
	columns_drop_all(&w->use);
	columns_drop_all(&w->pair);
	columns_drop_all(&w->maker);
	return BERTH_OK;
}

berth_status workflow_finish(workflow *w, const char *file, berth_arena *mem, berth_graph *out)
{
	return task_graph_finish(&w->t, put_all(w), file, mem, out);
}
