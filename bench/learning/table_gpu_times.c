/* Fits the time model of GPUs to public measurements, tells how far it is off on GPUs that are left out, and
 * writes its numbers. scripts/train-times calls it. */
#include "gpu_fit.h"

#include <stdlib.h>

static const char *const class_name[BERTH_N_TIME_CLASSES] = {
	"linear", "bmm", "conv", "element-wise", "norm", "softmax", "half precision"};
static const char *const class_words[BERTH_N_TIME_CLASSES] = {
	"LINEAR", "BMM", "CONV", "ELEMENTWISE", "NORM", "SOFTMAX", "HALF"};

/* Every fit: [class][GPU_DEVICES: with all]. */
typedef struct fits {
	gpu_rows rows;
	gpu_fit fit[BERTH_N_TIME_CLASSES][GPU_DEVICES + 1];
	bool seen[BERTH_N_TIME_CLASSES][GPU_DEVICES];
} fits;

/* The roofline with the efficiencies of docs/systems.md. */
static double roofline(const berth_time_query *q, const berth_time_device *d)
{
	static const double efficiency[BERTH_N_TIME_CLASSES] = {0.8, 0.8, 0.6, 1, 1, 1, 0.8};
	return d->overhead_s +
	       fmax(q->flops / (efficiency[q->class] * d->peak_flops), q->bytes / d->bandwidth);
}

typedef struct error_sum {
	double typical, known, roofline; /* mean absolute errors: overhead not known, known; and of the
	                                    roofline */
} error_sum;

static error_sum judge(const fits *x, berth_time_class class, int32_t device, const gpu_fit *f)
{
	const berth_time_device *d = &x->rows.device[device];
	berth_time_device typical = *d;
	if (d->overhead_s > 0)
		typical.overhead_s = x->rows.overhead_s;
	double number[BERTH_N_TIME_NUMBERS];
	gpu_fit_numbers(f, berth_time_generation(d), number);
	error_sum s = {0};
	int32_t n = 0;
	for (int32_t i = 0; i < x->rows.n[class]; i++) {
		const gpu_row *r = &x->rows.row[class][i];
		if (r->device != device)
			continue;
		s.typical += fabs(berth_time_formula(number, &r->q, &typical) / r->seconds - 1);
		s.known += fabs(berth_time_formula(number, &r->q, d) / r->seconds - 1);
		s.roofline += fabs(roofline(&r->q, d) / r->seconds - 1);
		n++;
	}
	return (error_sum){100 * s.typical / n, 100 * s.known / n, 100 * s.roofline / n};
}

/* ---- operators ---- */

/* With all GPUs, or without each of those that a class has. */
static void fit(fits *x, bool with_all)
{
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class++) {
		for (int32_t i = 0; i < x->rows.n[class]; i++)
			x->seen[class][x->rows.row[class][i].device] = true;
		for (int32_t d = 0; d <= GPU_DEVICES; d++)
			if (d == GPU_DEVICES ? with_all : !with_all && x->seen[class][d])
				gpu_fit_class(&x->rows, (berth_time_class)class, d == GPU_DEVICES ? -1 : d,
				              &x->fit[class][d]);
	}
}

static void print_operators(const fits *x)
{
	bench_head("operators | roofline: | fitted with it: | GPU left out: | and its overhead known: | each "
	           "GPU left out");
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class++) {
		error_sum out = {0}, in = {0};
		int n = 0;
		char each[200] = "";
		for (int32_t d = 0; d < GPU_DEVICES; d++) {
			if (!x->seen[class][d])
				continue;
			error_sum a = judge(x, (berth_time_class)class, d, &x->fit[class][d]);
			in.known += judge(x, (berth_time_class)class, d, &x->fit[class][GPU_DEVICES]).known;
			out.typical += a.typical, out.known += a.known, out.roofline += a.roofline;
			size_t at = strlen(each);
			snprintf(each + at, sizeof each - at, "%s%s %.0f", n++ ? ", " : "",
			         gpu_device_label(d), a.typical);
		}
		printf("| %s | %.1f | %.1f | %.1f | %.1f | %s |\n", class_name[class], out.roofline / n,
		       in.known / n, out.typical / n, out.known / n, each);
	}
}

/* ---- whole models ---- */

typedef struct summing {
	const berth_time_device *d;
	double (*number)[BERTH_N_TIME_NUMBERS];
	double seconds;
	bool training;
} summing;

/* backward: what an operator's backward pass takes, in times of its forward pass. */
static void add(summing *s, double n, double backward, berth_time_query q)
{
	s->seconds +=
		n * (1 + (s->training ? backward : 0)) * berth_time_formula(s->number[q.class], &q, s->d);
}

typedef struct shape {
	const char *name;
	double layers, width, heads, words;
} shape;

static const shape shapes[] = {{"bert_large", 24, 1024, 16, 30522},
                               {"gpt2_large", 36, 1280, 20, 50257},
                               {"gpt3_xl", 24, 3072, 24, 50257},
                               {"gpt3_27", 32, 2560, 32, 50257}};

/* A layer; GPT's activation is eight operators, BERT's one. */
static void add_layers(summing *s, const shape *x, double batch, double sequence, bool gpt)
{
	double tokens = batch * sequence, scores = batch * x->heads * sequence * sequence, w = x->width;
	if (gpt)
		add(s, x->layers, 2, gpu_linear(tokens, w, 3 * w, 4));
	add(s, x->layers * (gpt ? 1 : 4), 2, gpu_linear(tokens, w, w, 4));
	add(s, x->layers, 2.1, gpu_bmm(batch * x->heads, sequence, w / x->heads, sequence));
	add(s, x->layers, 2.1, gpu_bmm(batch * x->heads, sequence, sequence, w / x->heads));
	add(s, x->layers, 1, gpu_elementwise(scores, 2 * scores));
	add(s, x->layers, gpt ? 1 : 0.1, gpu_elementwise(scores, 2 * scores));
	add(s, x->layers, 2, gpu_over_rows(BERTH_TIME_SOFTMAX, batch * x->heads * sequence, sequence));
	if (s->training) { /* dropout */
		add(s, x->layers, 1.5, gpu_elementwise(scores, 2.25 * scores));
		add(s, 2 * x->layers, 1.5, gpu_elementwise(tokens * w, 2.25 * tokens * w));
	}
	add(s, x->layers, 0.1, gpu_elementwise(tokens * w, 2 * tokens * w));
	add(s, 2 * x->layers, 0.1, gpu_elementwise(tokens * w, 3 * tokens * w));
	add(s, 2 * x->layers, 1, gpu_over_rows(BERTH_TIME_NORM, tokens, w));
	add(s, x->layers, 2, gpu_linear(tokens, w, 4 * w, 4));
	add(s, x->layers, 2, gpu_linear(tokens, 4 * w, w, 4));
	add(s, (gpt ? 6 : 1) * x->layers, gpt ? 1.3 : 1.5, gpu_elementwise(4 * tokens * w, 8 * tokens * w));
	if (gpt)
		add(s, 2 * x->layers, 1.3, gpu_elementwise(4 * tokens * w, 12 * tokens * w));
}

/* Seconds of a model on a GPU: the sum of its operators, each by number [class][BERTH_N_TIME_NUMBERS]. */
static double sum_operators(const gpu_whole *w, const berth_time_device *d,
                            double number[][BERTH_N_TIME_NUMBERS])
{
	const shape *x = NULL;
	for (int i = 0; i < BENCH_N(shapes); i++)
		if (strncmp(w->model, shapes[i].name, strlen(shapes[i].name)) == 0)
			x = &shapes[i];
	const char *mode = strstr(w->model, w->training ? "train-" : "inf-");
	if (!x || !mode)
		bench_refuse("a model that is not known");
	char *end;
	double sequence = strtod(mode + (w->training ? 6 : 4), &end), batch = strtod(end + 1, NULL);
	bool gpt = *w->model == 'g';
	double tokens = batch * sequence;
	summing s = {d, number, 0, w->training};
	add_layers(&s, x, batch, sequence, gpt);
	add(&s, 3, 1, gpu_elementwise(tokens * x->width, 2 * tokens * x->width));
	add(&s, 1, 1, gpu_over_rows(BERTH_TIME_NORM, tokens, x->width));
	if (gpt || w->training)
		add(&s, 1, 2, gpu_linear(tokens, x->width, x->words, 4));
	return s.seconds;
}

/* A model on a GPU, by numbers that were fitted without it. */
static double whole_seconds(const fits *x, const gpu_whole *w)
{
	double number[BERTH_N_TIME_CLASSES][BERTH_N_TIME_NUMBERS];
	berth_time_device d = x->rows.device[w->device];
	d.overhead_s = 5e-6;                              /* the host runs ahead */
	int32_t without = w->device == 1 ? 0 : w->device; /* of two kinds of A100 only one has operators */
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class++)
		gpu_fit_numbers(&x->fit[class][x->seen[class][without] ? without : GPU_DEVICES],
		                berth_time_generation(&d), number[class]);
	return sum_operators(w, &d, number);
}

static void print_wholes(const fits *x, const char *folder, berth_arena *mem)
{
	static gpu_whole whole[GPU_WHOLES];
	double off[GPU_WHOLES], error[2] = {0}, ratio = 0, worst = 0;
	int n = gpu_wholes_read(folder, mem, whole), count[2] = {0}, n_pairs = 0;
	printf("\n");
	bench_head("whole model, GPU left out | GPU | ms: | error %:");
	for (int i = 0; i < n; i++) {
		double s = whole_seconds(x, &whole[i]);
		off[i] = s / whole[i].seconds;
		error[whole[i].training] += fabs(off[i] - 1);
		count[whole[i].training]++;
		printf("| %s | %s | %.1f | %+.1f |\n", whole[i].model, gpu_device_label(whole[i].device),
		       whole[i].seconds * 1e3, 100 * (off[i] - 1));
		for (int k = 0; k < i; k++)
			if (strcmp(whole[i].model, whole[k].model) == 0) {
				double r = fmax(off[i] / off[k], off[k] / off[i]);
				ratio += r;
				worst = fmax(worst, r);
				n_pairs++;
			}
	}
	printf("\nWhole models, mean: inference %.1f %%, training %.1f %%; two GPUs against each other %.3f "
	       "(at worst %.2f)\n",
	       100 * error[0] / count[0], 100 * error[1] / count[1], ratio / n_pairs, worst);
}

/* ---- the numbers ---- */

static void write_numbers(const fits *x, const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f)
		bench_refuse("a file that cannot be written");
	fprintf(f, "/* The numbers of the time model (gpu_times.h), fitted to public measurements by\n * "
	           "scripts/train-times, which writes this file; its card is in checkpoints/README.md. A row "
	           "is a\n * generation, columns are berth_time_number. */\n#pragma once\n\n#include "
	           "\"gpu_times.h\"\n\n/* clang-format off */\nstatic const double "
	           "fitted[BERTH_N_TIME_CLASSES][BERTH_N_GENERATIONS][BERTH_N_TIME_NUMBERS] = {\n");
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class++) {
		fprintf(f, "\t[BERTH_TIME_%s] = {\n", class_words[class]);
		for (int g = 0; g < BERTH_N_GENERATIONS; g++) {
			double number[BERTH_N_TIME_NUMBERS];
			gpu_fit_numbers(&x->fit[class][GPU_DEVICES], g, number);
			for (int i = 0; i < BERTH_N_TIME_NUMBERS; i++)
				fprintf(f, "%s%.4g%s", i == 0 ? "\t\t{" : i % 10 ? " " : "\n\t\t ", number[i],
				        i + 1 < BERTH_N_TIME_NUMBERS ? "," : "},\n");
		}
		fprintf(f, "\t},\n");
	}
	fprintf(f, "};\n/* clang-format on */\n");
	if (fclose(f))
		bench_refuse("a file that cannot be written");
}

void table_gpu_times(const bench_options *o)
{
	static fits x;
	BERTH_ARENA(mem);
	if (o->n_words < 1 || o->n_words > 2)
		bench_refuse("the folder of the measurements, unpacked, and perhaps the file to write");
	gpu_rows_read(o->word[0], &mem, &x.rows);
	fit(&x, true);
	if (o->n_words == 2)
		write_numbers(&x, o->word[1]);
	fit(&x, false);
	print_operators(&x);
	print_wholes(&x, o->word[0], &mem);
}
