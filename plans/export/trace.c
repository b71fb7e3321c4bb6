/* Exporter "trace": a simulated timeline in the trace event format of Chrome, which Perfetto and
 * chrome://tracing show. There are two processes, devices and channels. Each has one thread a device slot or
 * a channel, and more where transfers overlap without contention: threads are lanes, and an event takes the
 * lowest lane of its device or channel that is free when it starts. Operators and hops are complete events;
 * ts and dur are microseconds with three decimals. O((ops + hops) log). */
#include "exporters.h"

#include "explain.h"

enum { PID_DEVICES = 1, PID_CHANNELS = 2 };

/* One bar of the picture. */
typedef struct bar {
	int64_t start_ns, end_ns;
	int32_t row;  /* device or channel */
	int32_t lane; /* within the row */
	int32_t what; /* operator or hop */
} bar;

static int compare_bars(const void *pa, const void *pb)
{
	const bar *a = pa, *b = pb;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return BERTH_COMPARE(a->what, b->what);
}

/* Sort the bars by row and start, give each a lane, and count the lanes of each row (at least one). */
static berth_status lay_out(bar *b, size_t n, int32_t n_rows, int32_t *row_lanes, berth_arena *tmp,
                            berth_err *err)
{
	int64_t *free_ns;
	BERTH_TRY_NEW(tmp, n + 1, err, free_ns);
	for (int32_t r = 0; r < n_rows; r++)
		row_lanes[r] = 1;
	if (n)
		qsort(b, n, sizeof *b, compare_bars);
	for (size_t i = 0; i < n; i++) {
		int32_t *lanes = &row_lanes[b[i].row];
		if (!i || b[i].row != b[i - 1].row)
			free_ns[0] = 0;
		while (b[i].lane < *lanes && free_ns[b[i].lane] > b[i].start_ns)
			b[i].lane++;
		if (b[i].lane == *lanes)
			++*lanes;
		free_ns[b[i].lane] = b[i].end_ns;
	}
	return BERTH_OK;
}

/* ---- events ---- */

static void put_name(berth_json_out *w, const char *what, int pid, int32_t tid, const char *name)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "ph", "M");
	berth_json_put_int(w, "pid", pid);
	berth_json_put_int(w, "tid", tid);
	berth_json_put_string(w, "name", what);
	berth_json_open(w, "args", '{');
	berth_json_put_string(w, "name", name);
	berth_json_close(w, '}');
	berth_json_close(w, '}');
}

static void open_event(berth_json_out *w, const char *name, const char *category, int pid, int32_t tid,
                       const bar *b)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "ph", "X");
	berth_json_put_int(w, "pid", pid);
	berth_json_put_int(w, "tid", tid);
	berth_json_put_string(w, "name", name);
	berth_json_put_string(w, "cat", category);
	berth_json_put_number(w, "ts", (double)b->start_ns / 1e3);
	berth_json_put_number(w, "dur", (double)(b->end_ns - b->start_ns) / 1e3);
	berth_json_open(w, "args", '{');
}

static void close_event(berth_json_out *w)
{
	berth_json_close(w, '}');
	berth_json_close(w, '}');
}

/* Nothing where no pool slowed it. */
static void put_slowed(berth_json_out *w, const berth_system *s, berth_slowed x)
{
	if (x.pool < 0)
		return;
	berth_json_put_number(w, "slowed", x.times);
	berth_json_put_string(w, "slowed_by", s->pool_name[x.pool]);
}

/* A piece of an operator says of which, so that a viewer can put them together. */
static void put_piece(berth_json_out *w, const char *name)
{
	int32_t of;
	size_t len;
	int32_t i = berth_piece_number(name, &of, &len);
	if (!i)
		return;
	const char *whole = berth_arena_strndup(w->mem, name, len);
	w->failed |= !whole;
	berth_json_put_string(w, "operator", whole);
	berth_json_put_int(w, "piece", i);
	berth_json_put_int(w, "pieces", of);
}

static void put_op(berth_json_out *w, const berth_problem *p, const berth_timeline *t, const bar *b,
                   int32_t tid)
{
	const berth_graph *g = p->g;
	int32_t op = b->what;
	const char *type = g->op_type[op] >= 0 ? g->type_name[g->op_type[op]] : "operator";
	open_event(w, g->op_name[op], type, PID_DEVICES, tid, b);
	berth_json_put_string(w, "type", type);
	berth_json_put_number(w, "flops", g->op_flops[op]);
	berth_json_put_int(w, "read_bytes", g->op_read_bytes[op]);
	berth_json_put_int(w, "write_bytes", g->op_write_bytes[op]);
	berth_json_put_int(w, "param_bytes", g->op_param_bytes[op]);
	put_piece(w, g->op_name[op]);
	put_slowed(w, p->s, berth_op_slowed(p, t, op));
	close_event(w);
}

static void put_hop(berth_json_out *w, const berth_problem *p, const berth_timeline *t, const bar *b,
                    int32_t tid)
{
	const berth_sim_hop *h = &t->hops[b->what];
	const berth_graph *g = p->g;
	const berth_system *s = p->s;
	const char *producer = g->op_name[g->tensor_producer[h->tensor]];
	open_event(w, producer, "transfer", PID_CHANNELS, tid, b);
	berth_json_put_string(w, "producer", producer);
	berth_json_put_string(w, "tensor", g->tensor_name[h->tensor]);
	berth_json_put_int(w, "bytes", g->tensor_bytes[h->tensor]);
	berth_json_put_string(w, "from", s->dev_name[s->link_from[h->link]]);
	berth_json_put_string(w, "to", s->dev_name[s->link_to[h->link]]);
	berth_json_put_string(w, "destination", s->dev_name[h->dest]);
	berth_json_put_number(w, "waited_us", (double)(h->start_ns - h->request_ns) / 1e3);
	put_slowed(w, s, berth_hop_slowed(p, t, h));
	close_event(w);
}

/* ---- the two processes ---- */

/* Bars of devices or channels with their names: threads "NAME" or "NAME #2", then the events. least [n_rows]:
 * of each at least so many; NULL: one. */
static berth_status put_process(berth_json_out *w, const berth_export_source *x, int pid, bar *b, size_t n,
                                const char *const *row_name, const int32_t *least, int32_t n_rows,
                                berth_arena *tmp, berth_err *err)
{
	int32_t *lanes, *tid, next = 1;
	char label[256];
	BERTH_TRY_NEW(tmp, n_rows, err, lanes, tid);
	BERTH_TRY(lay_out(b, n, n_rows, lanes, tmp, err));
	put_name(w, "process_name", pid, 0, pid == PID_DEVICES ? "devices" : "channels");
	for (int32_t r = 0; r < n_rows; r++) {
		tid[r] = next;
		lanes[r] = least && least[r] > lanes[r] ? least[r] : lanes[r];
		for (int32_t lane = 0; lane < lanes[r]; lane++) {
			snprintf(label, sizeof label, lanes[r] > 1 ? "%.200s #%d" : "%.200s", row_name[r],
			         lane + 1);
			put_name(w, "thread_name", pid, next++, label);
		}
	}
	for (size_t i = 0; i < n; i++)
		if (pid == PID_DEVICES)
			put_op(w, x->p, x->t, &b[i], tid[b[i].row] + b[i].lane);
		else
			put_hop(w, x->p, x->t, &b[i], tid[b[i].row] + b[i].lane);
	return BERTH_OK;
}

static berth_status put_devices(berth_json_out *w, const berth_export_source *x, berth_arena *tmp,
                                berth_err *err)
{
	const berth_problem *p = x->p;
	const berth_timeline *t = x->t;
	bar *b;
	BERTH_TRY_NEW(tmp, p->n_ops, err, b);
	for (int32_t op = 0; op < p->n_ops; op++)
		b[op] = (bar){t->start_ns[op], t->end_ns[op], t->op_dev[op], 0, op};
	return put_process(w, x, PID_DEVICES, b, (size_t)p->n_ops, p->s->dev_name, p->s->dev_slots, p->n_devs,
	                   tmp, err);
}

/* "pcie0", or "gpu0 -> gpu1" for a link's own channel. */
static const char *channel_label(const berth_system *s, int32_t c, berth_arena *mem)
{
	int32_t l = 0;
	if (s->channel_name[c])
		return s->channel_name[c];
	while (s->link_channel[l] != c)
		l++;
	return berth_arena_printf(mem, "%.100s -> %.100s", s->dev_name[s->link_from[l]],
	                          s->dev_name[s->link_to[l]]);
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	const berth_problem *p = x->p;
	berth_json_out w;
	berth_json_out_init(&w, out->mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "displayTimeUnit", "ms");
	berth_json_open(&w, "otherData", '{');
	berth_json_put_string(&w, "graph", p->g->name);
	berth_json_put_string(&w, "system", p->s->name);
	berth_json_close(&w, '}');
	berth_json_open(&w, "traceEvents", '[');
	BERTH_TRY(put_devices(&w, x, tmp, err));
	const berth_system *s = x->p->s;
	const berth_timeline *t = x->t;
	bar *b;
	const char **label;
	BERTH_TRY_NEW(tmp, t->n_hops, err, b);
	BERTH_TRY_NEW(tmp, s->n_channels, err, label);
	for (size_t h = 0; h < t->n_hops; h++)
		b[h] = (bar){t->hops[h].start_ns, t->hops[h].end_ns, s->link_channel[t->hops[h].link], 0,
		             (int32_t)h};
	for (int32_t c = 0; c < s->n_channels; c++)
		BERTH_TRY(berth_got(label[c] = channel_label(s, c, tmp), err));
	BERTH_TRY(put_process(&w, x, PID_CHANNELS, b, t->n_hops, label, NULL, s->n_channels, tmp, err));
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	return berth_export_put_json(out, &w, err);
}

const berth_exporter berth_export_trace = {
	.name = "trace",
	.about = "The simulated timeline for Perfetto and chrome://tracing",
	.suffix = ".json",
	.needs = BERTH_EXPORT_TIMELINE,
	.own_names = true,
	.write = write,
};
