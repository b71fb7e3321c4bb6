/* Exporter "trace": a simulated timeline in the trace event format of Chrome, which Perfetto and
 * chrome://tracing show. There are two processes, devices and channels. Each has one thread a device slot or
 * a channel, and more where transfers overlap without contention: threads are lanes, and an event takes the
 * lowest lane of its device or channel that is free when it starts. Operators and hops are complete events;
 * ts and dur are microseconds with three decimals. O((ops + hops) log). */
#include "exporters.h"

#include "explain.h"
#include "json.h"
#include "piece_names.h"

#include <stdio.h>
#include <stdlib.h>

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
	return (a->what > b->what) - (a->what < b->what);
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

/* Thread names, "NAME" or "NAME #2"; row_tid = first thread of each row. */
static void name_threads(berth_json_out *w, int pid, int32_t row, const char *name, int32_t lanes,
                         int32_t *next_tid, int32_t *row_tid)
{
	char label[256];
	row_tid[row] = *next_tid;
	for (int32_t lane = 0; lane < lanes; lane++) {
		snprintf(label, sizeof label, lanes > 1 ? "%.200s #%d" : "%.200s", name, lane + 1);
		put_name(w, "thread_name", pid, (*next_tid)++, label);
	}
}

static berth_status put_devices(berth_json_out *w, const berth_problem *p, const berth_timeline *t,
                                berth_arena *tmp, berth_err *err)
{
	bar *b;
	int32_t *lanes, *tid, next = 1;
	BERTH_TRY_NEW(tmp, p->n_ops, err, b);
	BERTH_TRY_NEW(tmp, p->n_devs, err, lanes, tid);
	for (int32_t op = 0; op < p->n_ops; op++)
		b[op] = (bar){t->start_ns[op], t->end_ns[op], t->op_dev[op], 0, op};
	BERTH_TRY(lay_out(b, (size_t)p->n_ops, p->n_devs, lanes, tmp, err));
	put_name(w, "process_name", PID_DEVICES, 0, "devices");
	for (int32_t d = 0; d < p->n_devs; d++)
		name_threads(w, PID_DEVICES, d, p->s->dev_name[d],
		             p->s->dev_slots[d] > lanes[d] ? p->s->dev_slots[d] : lanes[d], &next, tid);
	for (int32_t i = 0; i < p->n_ops; i++)
		put_op(w, p, t, &b[i], tid[b[i].row] + b[i].lane);
	return BERTH_OK;
}

/* "pcie0", or "gpu0 -> gpu1" for a link's own channel. */
static const char *channel_label(const berth_system *s, int32_t c, char *buf, size_t size)
{
	int32_t l = 0;
	if (s->channel_name[c])
		return s->channel_name[c];
	while (s->link_channel[l] != c)
		l++;
	snprintf(buf, size, "%.100s -> %.100s", s->dev_name[s->link_from[l]], s->dev_name[s->link_to[l]]);
	return buf;
}

static berth_status put_channels(berth_json_out *w, const berth_problem *p, const berth_timeline *t,
                                 berth_arena *tmp, berth_err *err)
{
	bar *b;
	int32_t *lanes, *tid, next = 1;
	char label[256];
	BERTH_TRY_NEW(tmp, t->n_hops, err, b);
	BERTH_TRY_NEW(tmp, p->s->n_channels, err, lanes, tid);
	for (size_t h = 0; h < t->n_hops; h++)
		b[h] = (bar){t->hops[h].start_ns, t->hops[h].end_ns, p->s->link_channel[t->hops[h].link], 0,
		             (int32_t)h};
	BERTH_TRY(lay_out(b, t->n_hops, p->s->n_channels, lanes, tmp, err));
	put_name(w, "process_name", PID_CHANNELS, 0, "channels");
	for (int32_t c = 0; c < p->s->n_channels; c++)
		name_threads(w, PID_CHANNELS, c, channel_label(p->s, c, label, sizeof label), lanes[c], &next,
		             tid);
	for (size_t i = 0; i < t->n_hops; i++)
		put_hop(w, p, t, &b[i], tid[b[i].row] + b[i].lane);
	return BERTH_OK;
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
	BERTH_TRY(put_devices(&w, p, x->t, tmp, err));
	BERTH_TRY(put_channels(&w, p, x->t, tmp, err));
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
