/* Training pipelines of docs/clusters.md: steps that were measured on real clusters, beside what the model of
 * pipelines says of them from profiles of single layers, and what the search finds there. */
#include "entries.h"
#include "pipelines.h"

/* Figures of Sailor's artifact (github.com/eth-easl/sailor, commit cf2c8e3): OPT-350M, 2,048 tokens. Seconds
 * of the first layer, of each of the 24 in the middle, and of the last one, forward and backward, and the
 * update of one, of micro-batches of so many samples over so many GPUs of a host; measured steps; bytes a
 * second between hosts (its curve for large messages). Parameters and kept bytes are counted: 12 h^2 + 13 h
 * and what Korthikanti et al. (MLSys 2023) count of a layer. Messages have 32 bits a number: its runs set no
 * fp16. */
typedef struct profile {
	int32_t gpu, batch, width;
	double first[2], middle[2], last[2], update;
} profile;

enum { RTX3090, RTX2080, TITAN, GH200, LAYERS = 26, HIDDEN = 1024, TOKENS = 2048, HEADS = 16, VOCAB = 50272 };
static const char *const gpus[] = {"RTX-3090", "RTX-2080", "Titan-RTX", "GH200"};
static const int64_t memory[] = {25769803776, 11811160064, 25769803776, 102625181696};

static const profile profiles[] = {
	{RTX3090, 2, 1, {0.000282, 2e-06}, {0.00885, 0.023574}, {0.019807, 0.025956}, 0.004884},
	{RTX3090, 2, 2, {0.001105, 2e-06}, {0.005598, 0.013036}, {0.010105, 0.014792}, 0.002577},
	{RTX3090, 2, 4, {0.006151, 2e-06}, {0.012997, 0.016923}, {0.005163, 0.012445}, 0.001453},
	{RTX3090, 2, 8, {0.018533, 2e-06}, {0.037522, 0.039646}, {0.002892, 0.022585}, 0.000868},
	{RTX2080, 2, 1, {0.000406, 2e-06}, {0.01619, 0.042838}, {0.042271, 0.065904}, 0.009009},
	{RTX2080, 2, 2, {0.004739, 2e-06}, {0.017043, 0.030394}, {0.020112, 0.035334}, 0.004598},
	{RTX2080, 2, 4, {0.00574, 2e-06}, {0.01488, 0.021638}, {0.010375, 0.020125}, 0.002468},
	{RTX2080, 2, 8, {0.007675, 2e-06}, {0.016606, 0.020125}, {0.00621, 0.014632}, 0.001469},
	{TITAN, 2, 1, {0.000296, 2e-06}, {0.01525, 0.04036}, {0.038839, 0.060826}, 0.008115},
	{TITAN, 2, 2, {0.004768, 2e-06}, {0.016691, 0.029242}, {0.019002, 0.033385}, 0.004271},
	{TITAN, 2, 4, {0.007224, 2e-06}, {0.014702, 0.021012}, {0.009933, 0.019613}, 0.002211},
	{TITAN, 2, 8, {0.006495, 2e-06}, {0.013889, 0.01741}, {0.005318, 0.013428}, 0.001443},
	{GH200, 1, 4, {0.000967, 2e-06}, {0.002381, 0.001719}, {0.002405, 0.001663}, 0.000447},
	{GH200, 2, 4, {0.000456, 2e-06}, {0.001509, 0.001846}, {0.001632, 0.001493}, 0.000429},
	{GH200, 4, 4, {0.00063, 2e-06}, {0.0018, 0.00332}, {0.002424, 0.002579}, 0.000472},
	{GH200, 8, 4, {0.000922, 1e-06}, {0.002683, 0.00647}, {0.004014, 0.005944}, 0.000479},
};

/* A measured plan: hosts of each GPU in each of its stages, which stand on whole replicas. */
typedef struct measured {
	double step_s;
	int64_t samples;
	int32_t batch, width, n_stages, layers[4], hosts[4][4];
} measured;

/* A ninth, of six hosts in three stages, has the figures of that of three, to the digit: it is left out. */
static const measured mit[] = {
	{119.83914, 256, 2, 2, 2, {12, 14}, {{1}, {0, 0, 1}}},
	{91.78, 256, 2, 2, 1, {26}, {{1, 0, 1}}},
	{59.45533, 144, 2, 8, 3, {8, 9, 9}, {{1}, {0, 1}, {0, 0, 1}}},
	{83.76622, 256, 2, 8, 4, {5, 7, 7, 7}, {{1}, {0, 1}, {0, 0, 1}, {0, 1}}},
	{66.06712, 256, 2, 8, 2, {12, 14}, {{1, 1}, {0, 1, 1}}},
	{83.45238, 256, 2, 8, 1, {26}, {{1, 2, 1}}},
	{54.2392, 288, 2, 8, 2, {12, 14}, {{1, 2}, {0, 1, 2}}},
	{70.78508, 288, 2, 8, 1, {26}, {{1, 3, 2}}},
};
static const measured alps[] = {
	{0.07359, 1, 1, 4, 1, {26}, {{0, 0, 0, 1}}},
	{2.28123, 32, 1, 4, 1, {26}, {{0, 0, 0, 1}}},
	{0.65705, 32, 8, 4, 2, {12, 14}, {{0, 0, 0, 1}, {0, 0, 0, 1}}},
	{0.8048, 32, 2, 4, 1, {26}, {{0, 0, 0, 2}}},
	{1.60196, 64, 1, 4, 4, {5, 7, 7, 7}, {{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}}},
	{1.44523, 64, 1, 4, 2, {12, 14}, {{0, 0, 0, 2}, {0, 0, 0, 2}}},
	{1.23516, 128, 4, 4, 1, {26}, {{0, 0, 0, 4}}},
	{2.69795, 512, 8, 4, 4, {5, 7, 7, 7}, {{0, 0, 0, 2}, {0, 0, 0, 2}, {0, 0, 0, 2}, {0, 0, 0, 2}}},
	{2.2988, 512, 8, 4, 2, {12, 14}, {{0, 0, 0, 4}, {0, 0, 0, 4}}},
	{1.92557, 1024, 8, 4, 1, {26}, {{0, 0, 0, 16}}},
	{2.72578, 1024, 8, 4, 4, {5, 7, 7, 7}, {{0, 0, 0, 4}, {0, 0, 0, 4}, {0, 0, 0, 4}, {0, 0, 0, 4}}},
	{2.31116, 1024, 8, 4, 2, {12, 14}, {{0, 0, 0, 8}, {0, 0, 0, 8}}},
	{1.22476, 1024, 8, 4, 2, {12, 14}, {{0, 0, 0, 16}, {0, 0, 0, 16}}},
	{1.02594, 1024, 8, 4, 1, {26}, {{0, 0, 0, 32}}},
	{1.47485, 1024, 8, 4, 4, {5, 7, 7, 7}, {{0, 0, 0, 8}, {0, 0, 0, 8}, {0, 0, 0, 8}, {0, 0, 0, 8}}},
};

static double *sums_of(double first, double middle, double last, berth_arena *mem)
{
	double *x = bench_new(mem, LAYERS + 1, sizeof *x);
	for (int l = 0; l < LAYERS; l++)
		x[l + 1] = x[l] + (l == 0 ? first : l == LAYERS - 1 ? last : middle);
	return x;
}

static int64_t *bytes_of(double first, double middle, double last, berth_arena *mem)
{
	int64_t *x = bench_new(mem, LAYERS + 1, sizeof *x);
	double *sum = sums_of(first, middle, last, mem);
	for (int l = 0; l <= LAYERS; l++)
		x[l] = (int64_t)sum[l];
	return x;
}

/* The tables of a cluster with so many hosts of each GPU, at one batch; widths that have no profile are
 * barred by what they take. */
static void make_task(const int32_t *hosts, int32_t batch, double wire, berth_train_task *x, berth_arena *mem)
{
	int64_t *batches = bench_new(mem, 1, sizeof *batches), *work = bench_new(mem, 1, sizeof *work);
	int64_t **list = bench_new(mem, 2, sizeof *list);
	double h = HIDDEN, s = TOKENS, layer = 12 * h * h + 13 * h;
	*batches = batch;
	*x = (berth_train_task){.n_layers = LAYERS, .n_batches = 1, .batch = batches, .work_bytes = work};
	x->param_bytes = bytes_of(4 * h * (VOCAB + s), 4 * layer, 4 * h * VOCAB, mem);
	x->held_bytes = bytes_of(16 * h * (VOCAB + s), 16 * layer, 16 * h * VOCAB, mem);
	list[0] =
		bytes_of(2 * s * batch * h, s * batch * (34 * h + 5 * HEADS * s), 4 * s * batch * VOCAB, mem);
	list[1] = bench_new(mem, LAYERS + 1, sizeof **list);
	for (int l = 1; l < LAYERS; l++)
		list[1][l] = (int64_t)(4 * s * batch * h);
	x->kept_bytes = (const int64_t *const *)&list[0];
	x->forward_bytes = x->backward_bytes = (const int64_t *const *)&list[1];
	for (int g = 0; g < 4; g++) {
		if (hosts[g] == 0)
			continue;
		int32_t per_host = g == GH200 ? 4 : 8, *barred = bench_new(mem, LAYERS + 1, sizeof *barred);
		berth_train_times *t = bench_new(mem, BERTH_MOST_TRAIN_WIDTHS, sizeof *t);
		x->kind[x->n_kinds++] = (berth_train_kind){.first = g,
		                                           .name = gpus[g],
		                                           .n_devs = hosts[g] * per_host,
		                                           .per_host = per_host,
		                                           .memory_bytes = memory[g],
		                                           .idle_w = NAN,
		                                           .busy_w = NAN,
		                                           .barred = barred,
		                                           .times = t,
		                                           .n_widths = g == GH200 ? 3 : 4,
		                                           .inside = {0, 1e-10}};
		for (int w = 0; w < 4; w++)
			t[w].forward_s = t[w].backward_s = t[w].update_s = sums_of(1e6, 1e6, 1e6, mem);
		for (int i = 0; i < BENCH_N(profiles); i++)
			for (int w = 0; w < 4; w++) {
				const profile *p = &profiles[i];
				if (p->gpu == g && p->batch == batch && p->width == berth_train_width(w))
					t[w] = (berth_train_times){
						sums_of(p->first[0], p->middle[0], p->last[0], mem),
						sums_of(p->first[1], p->middle[1], p->last[1], mem),
						sums_of(p->update, p->update, p->update, mem)};
			}
	}
	for (int a = 0; a < x->n_kinds; a++)
		for (int b = 0; b < x->n_kinds; b++)
			x->hop[a][b].byte_s = 1 / wire;
}

/* A measured plan as the model has it. */
static double predict(const measured *m, double wire)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_train_task x;
	int32_t hosts[4] = {0}, kind[4], n = 0, width = 0;
	bool fits;
	for (int s = 0; s < m->n_stages; s++)
		for (int g = 0; g < 4; g++)
			hosts[g] += m->hosts[s][g];
	make_task(hosts, m->batch, wire, &x, &mem);
	x.samples = m->samples;
	while (berth_train_width(width) < m->width)
		width++;
	for (int g = 0; g < 4; g++)
		kind[g] = hosts[g] ? n++ : 0;
	for (int k = 0; k < x.n_kinds; k++)
		x.kind[k].memory_bytes = -1; /* they ran */
	berth_train_plan p = {.n_stages = m->n_stages};
	for (int s = 0, l = 0; s < m->n_stages; s++) {
		berth_train_stage *st = &p.stage[s];
		*st = (berth_train_stage){.from = l, .to = l + m->layers[s]};
		l = st->to;
		int32_t replicas = 0;
		for (int g = 0; g < 4; g++)
			if (m->hosts[s][g]) {
				st->part[st->n_parts++] =
					(berth_train_part){kind[g], width, 0, m->hosts[s][g], 0};
				replicas += m->hosts[s][g];
			}
		p.micro_batch = (int64_t)m->batch * replicas;
	}
	p.n_micro = m->samples / p.micro_batch;
	MUST(berth_train_value(&x, &p, &fits, &tmp, &err));
	return p.step_s;
}

static void print_measured(const char *name, const measured *m, int n, double wire)
{
	double off = 0, most = 0, real[BENCH_N(alps)], said[BENCH_N(alps)];
	int agree = 0, pairs = 0, best = 0;
	for (int i = 0; i < n; i++) {
		real[i] = (double)m[i].samples / m[i].step_s;
		said[i] = (double)m[i].samples / predict(&m[i], wire);
		off += fabs(real[i] / said[i] - 1) / n;
		most = fmax(most, fabs(real[i] / said[i] - 1));
		best = said[i] > said[best] ? i : best;
		for (int k = 0; k < i; k++) {
			agree += (real[i] > real[k]) == (said[i] > said[k]) ? 1 : -1;
			pairs++;
		}
	}
	double top = 0;
	for (int i = 0; i < n; i++)
		top = fmax(top, real[i]);
	printf("| %s | %d | %.1f %% | %.1f %% | %.3f | %.1f %% |\n", name, n, 100 * off, 100 * most,
	       (double)agree / pairs, 100 * (1 - real[best] / top));
}

/* ---- plans of a file ---- */

enum { MOST_LAYERS = 1024, MOST_DEVS = 1 << 20, MOST_PLANS = 1 << 20 };
static const double MOST_S = 1e9, MOST_BYTES = 1e12; /* of a layer; sums of them are whole numbers */

static _Noreturn void refuse(FILE *f, const char *why)
{
	char text[200];
	snprintf(text, sizeof text, "pipelines: %s; planners.py writes such files", why);
	fclose(f);
	bench_refuse(text);
}

static double number(FILE *f, const char *what, double least, double most)
{
	char why[150];
	double x;
	if (fscanf(f, "%lf", &x) != 1) {
		snprintf(why, sizeof why, "a number is missing in the file: %s", what);
		refuse(f, why);
	}
	if (!(x >= least && x <= most)) {
		snprintf(why, sizeof why, "%s in the file: %.10g is not from %.10g to %.10g", what, x, least,
		         most);
		refuse(f, why);
	}
	return x;
}

static int32_t count(FILE *f, const char *what, int32_t least, int32_t most)
{
	return (int32_t)number(f, what, least, most);
}

static double *sums(FILE *f, int32_t n, berth_arena *mem)
{
	double *x = bench_new(mem, (size_t)n + 1, sizeof *x);
	for (int32_t i = 0; i < n; i++)
		x[i + 1] = x[i] + number(f, "seconds", 0, MOST_S);
	return x;
}

static int64_t *bytes(FILE *f, int32_t n, bool sum, berth_arena *mem)
{
	int64_t *x = bench_new(mem, (size_t)n + 1, sizeof *x);
	for (int32_t i = 0; i < n; i++)
		x[i + 1] = (sum ? x[i] : 0) + (int64_t)number(f, "bytes", 0, MOST_BYTES);
	return x;
}

static berth_train_hop hop(FILE *f)
{
	double latency_s = number(f, "seconds of a hop", 0, MOST_S);
	return (berth_train_hop){latency_s, number(f, "seconds of a byte", 0, 1)};
}

/* False: the file is over. */
static bool read_task(FILE *f, berth_train_task *x, berth_arena *mem)
{
	if (fscanf(f, " ") < 1 && feof(f))
		return false;
	*x = (berth_train_task){.samples = count(f, "samples", 1, BERTH_MOST_TRAIN_SAMPLES)};
	x->n_layers = count(f, "layers", 1, MOST_LAYERS);
	x->n_batches = count(f, "batches", 1, BERTH_MOST_TRAIN_BATCHES);
	x->n_kinds = count(f, "kinds", 1, BERTH_MOST_TRAIN_KINDS);
	size_t n = (size_t)x->n_batches;
	int64_t *batch = bench_new(mem, n, sizeof *batch);
	for (size_t i = 0; i < n; i++)
		batch[i] = count(f, "a batch", 1, BERTH_MOST_TRAIN_SAMPLES);
	x->batch = batch;
	const int64_t **kept = bench_new(mem, n, sizeof *kept), **border = bench_new(mem, n, sizeof *border);
	x->param_bytes = bytes(f, x->n_layers, true, mem);
	x->held_bytes = bytes(f, x->n_layers, true, mem);
	x->work_bytes = bench_new(mem, n, sizeof *x->work_bytes);
	for (int32_t b = 0; b < x->n_batches; b++) {
		kept[b] = bytes(f, x->n_layers, true, mem);
		border[b] = bytes(f, x->n_layers, false, mem);
	}
	x->kept_bytes = kept;
	x->forward_bytes = x->backward_bytes = border;
	for (berth_train_kind *k = x->kind; k < x->kind + x->n_kinds; k++) {
		*k = (berth_train_kind){.name = "", .idle_w = NAN, .busy_w = NAN, .price_h = NAN};
		k->n_devs = count(f, "devices", 1, MOST_DEVS);
		k->per_host = count(f, "devices of a host", 1, MOST_DEVS);
		k->n_widths = count(f, "widths", 1, BERTH_MOST_TRAIN_WIDTHS);
		if (k->per_host % berth_train_width(k->n_widths - 1) != 0)
			refuse(f, "the widest replica in the file does not divide a host");
		k->memory_bytes = (int64_t)number(f, "bytes of memory, or -1,", -1, 1e3 * MOST_BYTES);
		k->inside = hop(f);
		k->barred = bench_new(mem, (size_t)x->n_layers + 1, sizeof *k->barred);
		berth_train_times *t = bench_new(mem, n * BERTH_MOST_TRAIN_WIDTHS, sizeof *t);
		k->times = t;
		for (int32_t i = 0; i < x->n_batches * k->n_widths; i++) {
			t[i].forward_s = sums(f, x->n_layers, mem);
			t[i].backward_s = sums(f, x->n_layers, mem);
			t[i].update_s = sums(f, x->n_layers, mem);
		}
	}
	for (int32_t i = 0; i < x->n_kinds * x->n_kinds; i++) {
		x->hop[i / x->n_kinds][i % x->n_kinds] = hop(f);
	}
	return true;
}

static void read_plan(FILE *f, const berth_train_task *x, berth_train_plan *p)
{
	int32_t last = 0;
	*p = (berth_train_plan){.n_stages = count(f, "stages", 1, BERTH_MOST_TRAIN_STAGES)};
	p->n_micro = count(f, "micro-batches", 1, BERTH_MOST_MICRO_BATCHES);
	p->micro_batch = count(f, "samples of a micro-batch", 1, BERTH_MOST_TRAIN_SAMPLES);
	for (berth_train_stage *g = p->stage; g < p->stage + p->n_stages; g++) {
		g->from = count(f, "first layer of a stage", last, last);
		g->to = last = count(f, "end of a stage", g->from + 1, x->n_layers);
		g->n_parts = count(f, "parts", 1, BERTH_MOST_TRAIN_PARTS);
		for (berth_train_part *a = g->part; a < g->part + g->n_parts; a++) {
			a->kind = count(f, "kind of a part", 0, x->n_kinds - 1);
			a->width = count(f, "width of a part", 0, x->kind[a->kind].n_widths - 1);
			a->batch = count(f, "batch of a part", 0, x->n_batches - 1);
			a->n = count(f, "replicas of a part", 1, x->kind[a->kind].n_devs);
		}
	}
	if (last < x->n_layers)
		refuse(f, "the last stage of a plan in the file does not end with the last layer");
}

static void print_found(const berth_train_plan *p, double seconds)
{
	printf("%.9g %.3f %d %lld %lld", p->step_s, seconds, p->n_stages, (long long)p->n_micro,
	       (long long)p->micro_batch);
	for (const berth_train_stage *g = p->stage; g < p->stage + p->n_stages; g++) {
		printf(" %d %d %d", g->from, g->to, g->n_parts);
		for (const berth_train_part *a = g->part; a < g->part + g->n_parts; a++)
			printf(" %d %d %d %d", a->kind, a->width, a->batch, a->n);
	}
	printf("\n");
}

/* Of each task in a file: steps of its plans, which have the memory that they need; then the plan that is
 * found, with its step and CPU seconds. bench/tables/planners.py writes the file and reads what comes. */
static void value_file(const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f)
		bench_refuse("pipelines: the file cannot be read");
	for (;;) {
		BERTH_ARENA(mem);
		BERTH_ARENA(tmp);
		berth_train_task x;
		berth_train_plan p;
		if (!read_task(f, &x, &mem))
			break;
		berth_train_task any = x;
		for (int32_t k = 0; k < x.n_kinds; k++)
			any.kind[k].memory_bytes = -1;
		for (int32_t n = count(f, "plans", 0, MOST_PLANS); n > 0; n--) {
			bool fits;
			read_plan(f, &x, &p);
			MUST(berth_train_value(&any, &p, &fits, &tmp, &err));
			printf("%.9g\n", p.step_s);
		}
		double from = berth_cpu_seconds();
		MUST(berth_train_search(&x, BERTH_TRAIN_WORK, NULL, NULL, NULL, &tmp, &p, &err));
		print_found(&p, berth_cpu_seconds() - from);
	}
	fclose(f);
}

void table_pipelines(const bench_options *o)
{
	if (o->n_words > 0) {
		value_file(o->word[0]);
		return;
	}
	bench_head("cluster|plans:|steps off, mean:|most:|tau of samples/s:|regret of the best predicted:");
	print_measured("RTX-3090, RTX-2080 and Titan RTX, hosts of 8, 1 Gbit/s", mit, BENCH_N(mit), 115e6);
	print_measured("4 to 128 GH200, hosts of 4", alps, BENCH_N(alps), 45.7e9);
}
