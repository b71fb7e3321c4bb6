/* Questions to an engine and the checks of its answers. */
#include "engine_answer.h"
#include "graph_format.h"
#include "measured.h"

berth_measured_cfg berth_measured_cfg_default(void)
{
	return (berth_measured_cfg){
		.engine = {"engine", .hello_s = 60}, .load_s = 300, .answer_s = 120, .max_starts = 20};
}

enum { PLAIN_ANSWER = 1 << 16 }; /* bytes of one that holds no list */

/* ---- opening ---- */

static int32_t engine_dev_called(const berth_measured *m, const char *name)
{
	for (int32_t d = 0; d < m->n_engine_devs; d++)
		if (strcmp(m->engine_dev[d], name) == 0)
			return d;
	return -1;
}

static berth_status match_devices(berth_measured *m, berth_err *err)
{
	const berth_engine_hello *h = berth_engine_says(m->engine);
	m->n_engine_devs = h->n_devs;
	BERTH_TRY_NEW(m->mem, h->n_devs, err, m->engine_dev, m->engine_sys);
	BERTH_TRY_NEW(m->mem, m->s ? m->s->n_devs : 0, err, m->dev_engine);
	for (int32_t d = 0; d < h->n_devs; d++) {
		m->engine_dev[d] = h->dev[d].name;
		m->engine_sys[d] = m->s ? berth_system_find_dev(m->s, h->dev[d].name) : -1;
	}
	for (int32_t d = 0; m->s && d < m->s->n_devs; d++)
		m->dev_engine[d] = engine_dev_called(m, m->s->dev_name[d]);
	return BERTH_OK;
}

static berth_status load_graph(berth_measured *m, berth_arena *tmp, berth_err *err)
{
	berth_json_out w;
	engine_answer a;
	int32_t n_ops = 0;
	berth_engine_question(m->engine, "load", &w, tmp);
	berth_json_put_string(&w, "model", m->cfg.model);
	if (m->cfg.n_dims)
		berth_json_put_strings(&w, "dims", m->cfg.dim, m->cfg.n_dims);
	berth_json_put_document(&w, "graph", m->graph_json);
	BERTH_TRY(answer_ask(m, NULL, &w, m->cfg.load_s, PLAIN_ANSWER, tmp, &a, err));
	berth_status st = berth_json_int(&a.at, "ops", true, 0, INT32_MAX - 1, &n_ops, err);
	const char *missing = NULL;
	if (st == BERTH_OK)
		st = berth_json_string(&a.at, "missing", false, &missing, err);
	if (st == BERTH_OK && missing && !m->missing)
		st = berth_got(m->missing = berth_arena_strdup(m->mem, missing), err);
	cJSON_Delete(a.item);
	BERTH_TRY(answer_judge(&a, st, err));
	if (n_ops != m->g->n_ops)
		return berth_engine_lied(m->engine, err, "loaded %d operators; the graph has %d", n_ops,
		                         m->g->n_ops);
	m->loaded_start = berth_engine_starts(m->engine);
	return BERTH_OK;
}

/* A living engine that has the graph. */
static berth_status ready(berth_measured *m, berth_arena *tmp, berth_err *err)
{
	if (!berth_engine_runs(m->engine) && berth_engine_starts(m->engine) >= m->cfg.max_starts)
		return berth_fail(
			err, BERTH_EIO,
			"engine '%.60s' was started %d times and died each time; it is given up",
			berth_engine_name(m->engine), m->cfg.max_starts);
	BERTH_TRY(berth_engine_revive(m->engine, err));
	if (!m->g || m->loaded_start == berth_engine_starts(m->engine))
		return BERTH_OK;
	/* After a new start the engine must have the devices that it had. */
	const berth_engine_hello *h = berth_engine_says(m->engine);
	bool same = h->n_devs == m->n_engine_devs;
	for (int32_t d = 0; same && d < h->n_devs; d++)
		same = strcmp(h->dev[d].name, m->engine_dev[d]) == 0;
	if (!same)
		return berth_engine_lied(m->engine, err, "has other devices than at its first start");
	return load_graph(m, tmp, err);
}

berth_status berth_measured_open(const berth_measured_cfg *cfg, const berth_graph *g, const berth_system *s,
                                 berth_arena *mem, berth_measured *out, berth_err *err)
{
	berth_arena tmp = {.hook = mem->hook};
	size_t len;
	*out = (berth_measured){.cfg = *cfg, .g = g, .s = s, .mem = mem};
	if (g)
		BERTH_TRY(berth_graph_write_json(g, false, mem, &out->graph_json, &len, err));
	BERTH_TRY(berth_engine_start(&cfg->engine, mem, &out->engine, err));
	berth_status st = match_devices(out, err);
	if (st == BERTH_OK && g)
		st = load_graph(out, &tmp, err);
	berth_arena_free(&tmp);
	if (st != BERTH_OK)
		berth_measured_close(out);
	return st;
}

void berth_measured_close(berth_measured *m)
{
	berth_engine_stop(m->engine);
	m->engine = NULL;
}

/* ---- questions ---- */

/* A question about the loaded graph: what it says, and where its answer goes. Each kind of question sets the
 * fields that its put and read use. */
typedef struct question question;
struct question {
	const char *what; /* "do" of the protocol */
	void (*put)(const berth_measured *m, const question *q, berth_json_out *w);
	berth_status (*read)(engine_answer *a, const question *q, berth_arena *mem, berth_arena *tmp,
	                     berth_err *err); /* NULL: there is nothing to read */
	const int32_t *dev; /* [n_devs] devices that the engine must have; of a placement one an operator */
	int32_t n_devs;
	bool of_model;      /* it asks for runs of the whole model, which count */
	bool twice;         /* ask once more where the engine fails, which shall not cost a whole profile */
	int32_t warmup, repeats;
	const int32_t *order, *ops; /* [n_ops], NULL: the engine's. [n], NULL: all */
	const int64_t *bytes;       /* [n] */
	int32_t n, threads;
	double speed;
	berth_measurement *run;
	berth_operator_time **operators;
	int32_t *n_operators;
	berth_profile_row **profile;
	berth_engine_overheads *overheads;
	berth_transfer_row **transfers;
};

berth_status berth_measured_check_device(const berth_measured *m, int32_t dev, berth_err *err)
{
	char names[200] = "";
	size_t n = 0;
	if (m->dev_engine[dev] >= 0)
		return BERTH_OK;
	for (int32_t d = 0; d < m->n_engine_devs && n < sizeof names - 40; d++)
		n += (size_t)snprintf(names + n, sizeof names - n, "%s%.30s", d ? ", " : "",
		                      m->engine_dev[d]);
	const char *engine = berth_engine_name(m->engine);
	const char *hint =
		strcmp(engine, "ort") ? "" : "; --engine 'ort --providers DEVICE=PROVIDER,...' has others";
	return berth_fail(err, BERTH_EINFEASIBLE, "engine '%.60s' has no device '%.60s' (it has %s)%s",
	                  engine, m->s->dev_name[dev], names, hint);
}

static berth_status check_devices(const berth_measured *m, const question *q, berth_err *err)
{
	for (int32_t i = 0; i < q->n_devs; i++)
		BERTH_TRY(berth_measured_check_device(m, q->dev[i], err));
	return BERTH_OK;
}

/* Bytes that the answer can have: for each operator or size asked about its samples, three numbers each, and
 * the words of a kernel. */
static size_t most_bytes(const berth_measured *m, const question *q)
{
	enum { NUMBER = 32, WORDS = 4096 };
	size_t rows = (size_t)(m->g ? m->g->n_ops : 0) + (size_t)q->n + 1;
	return PLAIN_ANSWER + rows * ((size_t)q->repeats * 3 * NUMBER + WORDS);
}

static berth_status ask_once(berth_measured *m, const question *q, berth_arena *mem, berth_arena *tmp,
                             berth_err *err)
{
	berth_json_out w;
	engine_answer a;
	berth_err why = {0};
	BERTH_TRY(check_devices(m, q, err));
	BERTH_TRY(ready(m, tmp, err));
	berth_engine_question(m->engine, q->what, &w, tmp);
	q->put(m, q, &w);
	m->runs += q->of_model ? q->warmup + q->repeats : 0;
	berth_status st = answer_ask(m, m->cfg.journal, &w, m->cfg.answer_s, most_bytes(m, q), tmp, &a, &why);
	if (st == BERTH_OK && q->read)
		st = answer_judge(&a, q->read(&a, q, mem, tmp, &why), &why);
	return answer_settle(&a, st, &why, err);
}

/* Ask the engine. What is read lives in mem. tmp is reset. */
static berth_status ask(berth_measured *m, const question *q, berth_arena *mem, berth_arena *tmp,
                        berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_status st = ask_once(m, q, mem, tmp, err);
	bool failed = st == BERTH_EIO || st == BERTH_ELIMIT;
	if (q->twice && failed && berth_engine_starts(m->engine) < m->cfg.max_starts)
		st = ask_once(m, q, mem, tmp, err);
	return st;
}

static void put_repeats(const question *q, berth_json_out *w)
{
	berth_json_put_int(w, "warmup", q->warmup);
	berth_json_put_int(w, "repeats", q->repeats);
}

/* ---- runs of a placement ---- */

static void put_placement(const berth_measured *m, const question *q, berth_json_out *w)
{
	berth_json_open(w, "placement", '[');
	for (int32_t i = 0; i < m->g->n_ops; i++)
		berth_json_put_int(w, NULL, m->dev_engine[q->dev[i]]);
	berth_json_close(w, ']');
	if (q->order)
		berth_json_put_ints(w, "order", q->order, m->g->n_ops);
	if (m->trains)
		berth_json_put_bool(w, "train", true);
	put_repeats(q, w);
}

static berth_status read_samples(const engine_answer *a, int32_t n, berth_arena *mem, berth_arena *tmp,
                                 berth_measurement *out, berth_err *err)
{
	out->n_samples = n;
	BERTH_TRY(answer_seconds(a, &a->at, "wall_s", n, true, mem, &out->wall_s, err));
	BERTH_TRY(answer_seconds(a, &a->at, "cpu_s", n, false, mem, &out->cpu_s, err));
	BERTH_TRY(answer_seconds(a, &a->at, "strain", n, false, mem, &out->strain, err));
	return berth_spread_of(out->wall_s, n, tmp, &out->wall, err);
}

static berth_status read_segment_ops(const engine_answer *a, const berth_json *at, const int32_t *op_dev,
                                     bool *seen, berth_arena *mem, berth_segment *s, berth_err *err)
{
	berth_json list;
	const cJSON *item;
	BERTH_TRY(berth_json_array(at, "ops", true, &list, err));
	if (!cJSON_GetArraySize(list.item))
		return berth_fail(err, BERTH_EFORMAT, "a segment has no operators");
	BERTH_TRY_NEW(mem, cJSON_GetArraySize(list.item), err, s->op);
	cJSON_ArrayForEach(item, list.item)
	{
		double x = cJSON_IsNumber(item) ? item->valuedouble : -1;
		if (!(x >= 0 && x < a->m->g->n_ops) || x != floor(x) || seen[(int32_t)x])
			return berth_fail(err, BERTH_EFORMAT, "the segments do not hold each operator once");
		if (op_dev[(int32_t)x] != s->dev)
			return berth_fail(err, BERTH_EFORMAT,
			                  "an operator ran on another device than it was asked to");
		seen[(int32_t)x] = true;
		s->op[s->n_ops++] = (int32_t)x;
	}
	return BERTH_OK;
}

static berth_status read_segment(const engine_answer *a, const berth_json *at, const int32_t *op_dev,
                                 const berth_measurement *run, bool *seen, berth_arena *mem,
                                 berth_segment *s, berth_err *err)
{
	int32_t n = run->n_samples;
	BERTH_TRY(answer_device(a, at, &s->dev, err));
	BERTH_TRY(read_segment_ops(a, at, op_dev, seen, mem, s, err));
	BERTH_TRY(answer_seconds(a, at, "start_s", n, true, mem, &s->start_s, err));
	BERTH_TRY(answer_seconds(a, at, "end_s", n, true, mem, &s->end_s, err));
	BERTH_TRY(answer_seconds(a, at, "cpu_s", n, false, mem, &s->cpu_s, err));
	for (int32_t i = 0; i < n; i++)
		if (s->start_s[i] > s->end_s[i] || s->end_s[i] > run->wall_s[i] + ANSWER_CLOCK_SLACK_S)
			return berth_fail(err, BERTH_EFORMAT,
			                  "a segment ends before it starts or after the run");
	return BERTH_OK;
}

/* "loss": before each step; null: no finite number. "trained": steps of this training so far. */
static berth_status read_loss(engine_answer *a, int32_t n, berth_arena *mem, berth_arena *tmp,
                              double **out, berth_err *err)
{
	berth_json *row;
	int32_t trained = 0, count;
	*out = NULL;
	if (!a->m->trains)
		return BERTH_OK;
	BERTH_TRY(answer_rows(&a->at, "loss", n, tmp, &row, &count, err));
	BERTH_TRY(berth_json_int(&a->at, "trained", true, 0, INT32_MAX - 1, &trained, err));
	BERTH_TRY_NEW(mem, n, err, *out);
	for (int32_t i = 0; i < n; i++)
		(*out)[i] = cJSON_IsNumber(row[i].item) ? row[i].item->valuedouble : NAN;
	a->sound = trained != a->m->trained + n;
	if (a->sound)
		return berth_fail(err, BERTH_EFORMAT,
		                  "engine '%.60s' was started anew and has lost the %d steps that it had "
		                  "trained",
		                  berth_engine_name(a->m->engine), (int)a->m->trained);
	return BERTH_OK;
}

static berth_status read_run(engine_answer *a, const question *q, berth_arena *mem, berth_arena *tmp,
                             berth_err *err)
{
	/* "difference": the largest, relative to the largest output. "differs": true where the engine finds
	 * it too large. */
	bool differs = false;
	q->run->max_difference = NAN;
	BERTH_TRY(berth_json_number(&a->at, "difference", false, 0, &q->run->max_difference, err));
	BERTH_TRY(berth_json_bool(&a->at, "differs", &differs, err));
	a->sound = differs;
	if (differs)
		return berth_fail(err, BERTH_EFORMAT,
		                  "engine '%.60s': the outputs of this placement differ from the "
		                  "unsplit model's by %g of the largest",
		                  berth_engine_name(a->m->engine), q->run->max_difference);
	q->run->ready_s = NAN;
	BERTH_TRY(berth_json_number(&a->at, "ready_s", false, 0, &q->run->ready_s, err));
	BERTH_TRY(read_samples(a, q->repeats, mem, tmp, q->run, err));
	BERTH_TRY(read_loss(a, q->repeats, mem, tmp, &q->run->loss, err));
	berth_json *row;
	bool *seen;
	int32_t sum = 0;
	BERTH_TRY(answer_rows(&a->at, "segments", -1, tmp, &row, &q->run->n_segments, err));
	BERTH_TRY_NEW(mem, q->run->n_segments, err, q->run->segment);
	BERTH_TRY_NEW(tmp, a->m->g->n_ops, err, seen);
	for (int32_t i = 0; i < q->run->n_segments; i++) {
		BERTH_TRY(read_segment(a, &row[i], q->dev, q->run, seen, mem, &q->run->segment[i], err));
		sum += q->run->segment[i].n_ops;
	}
	return sum == a->m->g->n_ops
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EFORMAT, "the segments do not hold each operator once");
}

berth_status berth_measured_run(berth_measured *m, const int32_t *op_dev, const int32_t *order,
                                int32_t warmup, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                berth_measurement *out, berth_err *err)
{
	berth_measurement r = {0};
	const question q = {.what = "run", .put = put_placement, .read = read_run, .of_model = true,
	                    .dev = op_dev, .n_devs = m->g->n_ops, .order = order,
	                    .warmup = warmup, .repeats = repeats, .run = &r};
	BERTH_TRY(ask(m, &q, mem, tmp, err));
	m->trained = m->trains ? m->trained + repeats : 0;
	*out = r;
	return BERTH_OK;
}

/* ---- operators of a run ---- */

static void put_operators(const berth_measured *m, const question *q, berth_json_out *w)
{
	put_placement(m, q, w);
	berth_json_put_bool(w, "operators", true);
}

static berth_status read_operator(const engine_answer *a, const berth_json *at, const int32_t *op_dev,
                                  bool *seen, berth_arena *mem, berth_operator_time *x, berth_err *err)
{
	int32_t n_ops = a->m->g->n_ops;
	const char *kernel = "";
	*x = (berth_operator_time){.op = -1, .in = -1};
	BERTH_TRY(berth_json_int(at, "op", false, 0, n_ops - 1, &x->op, err));
	BERTH_TRY(berth_json_int(at, "in", false, 0, n_ops - 1, &x->in, err));
	BERTH_TRY(berth_json_string(at, "kernel", false, &kernel, err));
	BERTH_TRY(berth_json_number(at, "start_s", true, 0, &x->start_s, err));
	BERTH_TRY(berth_json_number(at, "end_s", true, 0, &x->end_s, err));
	BERTH_TRY(answer_device(a, at, &x->dev, err));
	if (x->start_s > x->end_s || (x->op >= 0 && (seen[x->op] || op_dev[x->op] != x->dev)))
		return berth_fail(err, BERTH_EFORMAT,
		                  "an operator ends before it starts, runs twice or on another device than "
		                  "it was asked to");
	if (x->op >= 0)
		seen[x->op] = true;
	return berth_got(x->kernel = berth_arena_strdup(mem, kernel), err);
}

static berth_status read_operators(engine_answer *a, const question *q, berth_arena *mem,
                                   berth_arena *tmp, berth_err *err)
{
	berth_json *row;
	bool *seen;
	*q->n_operators = 0;
	if (!cJSON_GetObjectItemCaseSensitive(a->at.item, "operators"))
		return BERTH_OK;
	BERTH_TRY(answer_rows(&a->at, "operators", -1, tmp, &row, q->n_operators, err));
	BERTH_TRY_NEW(mem, *q->n_operators, err, *q->operators);
	BERTH_TRY_NEW(tmp, a->m->g->n_ops, err, seen);
	for (int32_t i = 0; i < *q->n_operators; i++)
		BERTH_TRY(read_operator(a, &row[i], q->dev, seen, mem, &(*q->operators)[i], err));
	return BERTH_OK;
}

berth_status berth_measured_operators(berth_measured *m, const int32_t *op_dev, const int32_t *order,
                                      berth_arena *mem, berth_arena *tmp, berth_operator_time **rows,
                                      int32_t *n, berth_err *err)
{
	const question q = {.what = "run", .put = put_operators, .read = read_operators, .of_model = true,
	                    .dev = op_dev, .n_devs = m->g->n_ops, .order = order,
	                    .repeats = 1, .operators = rows, .n_operators = n};
	return ask(m, &q, mem, tmp, err);
}

/* ---- runs of the unsplit model ---- */

static void put_whole(const berth_measured *m, const question *q, berth_json_out *w)
{
	(void)m;
	berth_json_put_int(w, "threads", q->threads);
	put_repeats(q, w);
}

static berth_status read_whole(engine_answer *a, const question *q, berth_arena *mem, berth_arena *tmp,
                               berth_err *err)
{
	return read_samples(a, q->repeats, mem, tmp, q->run, err);
}

bool berth_measured_all_threads(const berth_measured *m)
{
	return strcmp(berth_engine_says(m->engine)->clock, "cpu") != 0;
}

berth_status berth_measured_whole(berth_measured *m, int32_t threads, int32_t warmup, int32_t repeats,
                                  berth_arena *mem, berth_arena *tmp, berth_measurement *out, berth_err *err)
{
	berth_measurement r = {.max_difference = NAN};
	const question q = {.what = "whole", .put = put_whole, .read = read_whole, .of_model = true,
	                    .threads = threads, .warmup = warmup, .repeats = repeats, .run = &r};
	BERTH_TRY(ask(m, &q, mem, tmp, err));
	*out = r;
	return BERTH_OK;
}

/* ---- operators alone ---- */

static void put_profile(const berth_measured *m, const question *q, berth_json_out *w)
{
	berth_json_put_int(w, "device", m->dev_engine[q->dev[0]]);
	berth_json_open(w, "ops", '[');
	for (int32_t i = 0; i < q->n; i++)
		berth_json_put_int(w, NULL, q->ops ? q->ops[i] : i);
	berth_json_close(w, ']');
	put_repeats(q, w);
}

static berth_status read_profile_row(const engine_answer *a, const berth_json *at, int32_t repeats,
                                     berth_arena *mem, berth_profile_row *row, berth_err *err)
{
	int32_t op = 0;
	BERTH_TRY(berth_json_int(at, "op", true, 0, a->m->g->n_ops - 1, &op, err));
	if (op != row->op)
		return berth_fail(err, BERTH_EFORMAT, "it profiled another operator than was asked for");
	if (cJSON_GetObjectItemCaseSensitive(at->item, "cannot"))
		return BERTH_OK;
	row->n = repeats;
	BERTH_TRY(answer_seconds(a, at, "wall_s", repeats, true, mem, &row->wall_s, err));
	return answer_seconds(a, at, "cpu_s", repeats, false, mem, &row->cpu_s, err);
}

static berth_status read_profile(engine_answer *a, const question *q, berth_arena *mem,
                                 berth_arena *tmp, berth_err *err)
{
	berth_json *row;
	int32_t n;
	*q->overheads = (berth_engine_overheads){NAN, NAN};
	BERTH_TRY(berth_json_number(&a->at, "run_overhead_s", false, 0, &q->overheads->run_s, err));
	BERTH_TRY(berth_json_number(&a->at, "segment_overhead_s", false, 0, &q->overheads->segment_s, err));
	BERTH_TRY(answer_rows(&a->at, "rows", q->n, tmp, &row, &n, err));
	BERTH_TRY_NEW(mem, n, err, *q->profile);
	for (int32_t i = 0; i < n; i++) {
		(*q->profile)[i] = (berth_profile_row){.op = q->ops ? q->ops[i] : i, .dev = q->dev[0]};
		BERTH_TRY(read_profile_row(a, &row[i], q->repeats, mem, &(*q->profile)[i], err));
	}
	return BERTH_OK;
}

berth_status berth_measured_profile(berth_measured *m, const int32_t *ops, int32_t n, int32_t dev,
                                    int32_t warmup, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                    berth_profile_row **rows, berth_engine_overheads *overheads,
                                    berth_err *err)
{
	const question q = {.what = "profile", .put = put_profile, .read = read_profile, .twice = true,
	                    .dev = &dev, .n_devs = 1, .ops = ops, .n = n, .warmup = warmup,
	                    .repeats = repeats, .profile = rows, .overheads = overheads};
	return ask(m, &q, mem, tmp, err);
}

/* ---- transfers ---- */

static void put_transfers(const berth_measured *m, const question *q, berth_json_out *w)
{
	berth_json_put_int(w, "from", m->dev_engine[q->dev[0]]);
	berth_json_put_int(w, "to", m->dev_engine[q->dev[1]]);
	berth_json_open(w, "bytes", '[');
	for (int32_t i = 0; i < q->n; i++)
		berth_json_put_int(w, NULL, q->bytes[i]);
	berth_json_close(w, ']');
	put_repeats(q, w);
}

static berth_status read_transfers(engine_answer *a, const question *q, berth_arena *mem,
                                   berth_arena *tmp, berth_err *err)
{
	berth_json *row;
	int32_t n;
	BERTH_TRY(answer_rows(&a->at, "rows", q->n, tmp, &row, &n, err));
	BERTH_TRY_NEW(mem, n, err, *q->transfers);
	for (int32_t i = 0; i < n; i++) {
		berth_transfer_row *t = &(*q->transfers)[i];
		*t = (berth_transfer_row){q->dev[0], q->dev[1], q->repeats, q->bytes[i], NULL};
		BERTH_TRY(answer_seconds(a, &row[i], "wall_s", q->repeats, true, mem, &t->wall_s, err));
	}
	return BERTH_OK;
}

berth_status berth_measured_transfers(berth_measured *m, int32_t from, int32_t to, const int64_t *bytes,
                                      int32_t n, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                      berth_transfer_row **rows, berth_err *err)
{
	const int32_t ends[] = {from, to};
	const question q = {.what = "transfers", .put = put_transfers, .read = read_transfers, .twice = true,
	                    .dev = ends, .n_devs = 2, .bytes = bytes, .n = n,
	                    .warmup = 1, .repeats = repeats, .transfers = rows};
	return ask(m, &q, mem, tmp, err);
}

/* ---- the speed of a device ---- */

static void put_speed(const berth_measured *m, const question *q, berth_json_out *w)
{
	berth_json_put_int(w, "device", m->dev_engine[q->dev[0]]);
	berth_json_put_number(w, "speed", q->speed);
}

berth_status berth_measured_set_speed(berth_measured *m, int32_t dev, double speed, berth_arena *tmp,
                                      berth_err *err)
{
	const question q = {.what = "set", .put = put_speed, .dev = &dev, .n_devs = 1, .speed = speed};
	return ask(m, &q, NULL, tmp, err);
}

/* Runs of a turn that begins, of those that are left to time; 0: there is no time for one. */
static int32_t runs_in(const berth_steady_cfg *cfg, double left_s, double run_s, int32_t warmup,
                       int32_t repeats)
{
	if (!(cfg->time_s > 0 && run_s > 0))
		return repeats;
	return (int32_t)fmax(0, fmin(repeats, left_s / run_s - warmup));
}

berth_status berth_steady_run(berth_measured *m, const berth_steady_cfg *cfg, const int32_t *op_dev,
                              const int32_t *order, berth_arena *mem, berth_arena *tmp,
                              berth_measurement *out, berth_err *err)
{
	static const double share = 0.5; /* of the time that an answer may take */
	int32_t warmup = cfg->warmup, repeats = cfg->least;
	double left_s = cfg->time_s;
	if (cfg->time_s > 0) {
		BERTH_TRY(berth_measured_run(m, op_dev, order, 0, 1, mem, tmp, out, err));
		cfg->before(cfg->progress_ctx, out->wall.median);
		left_s -= out->wall.median;
		warmup -= warmup > 0;
		repeats = runs_in(cfg, left_s, out->wall.median, warmup, repeats);
	}
	while (repeats > 0) {
		if (cfg->progress)
			cfg->progress(cfg->progress_ctx, "runs of this turn", 0, warmup + repeats);
		BERTH_TRY(berth_measured_run(m, op_dev, order, warmup, repeats, mem, tmp, out, err));
		left_s -= (warmup + repeats) * out->wall.median;
		warmup = 0;
		bool slow = 2 * repeats * out->wall.median > share * m->cfg.answer_s;
		if (!(berth_spread_width(&out->wall) > cfg->width) || repeats > cfg->most / 2 || slow ||
		    runs_in(cfg, left_s, out->wall.median, 0, 2 * repeats) < 2 * repeats)
			break;
		repeats *= 2;
	}
	return BERTH_OK;
}
