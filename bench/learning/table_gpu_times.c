/* Fits the time model of GPUs to public measurements, tells how far it is off on GPUs that are left out, and
 * writes its numbers. scripts/train-times calls it. */
#include "gpu_fit.h"
#include "gpu_whole.h"

#include <math.h>
#include <string.h>

static const char *const class_name[BERTH_N_TIME_CLASSES] = {
	"linear", "bmm", "conv", "element-wise", "norm", "softmax", "half precision"};
static const char *const class_words[BERTH_N_TIME_CLASSES] = {"LINEAR", "BMM",     "CONV", "ELEMENTWISE",
                                                              "NORM",   "SOFTMAX", "HALF"};

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

static void fit_with_all(fits *x)
{
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class++) {
		for (int32_t i = 0; i < x->rows.n[class]; i++)
			x->seen[class][x->rows.row[class][i].device] = true;
		gpu_fit_class(&x->rows, (berth_time_class)class, -1, &x->fit[class][GPU_DEVICES]);
	}
}

static void fit_without_each(fits *x)
{
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class++)
		for (int32_t d = 0; d < GPU_DEVICES; d++)
			if (x->seen[class][d])
				gpu_fit_class(&x->rows, (berth_time_class)class, d, &x->fit[class][d]);
}

static void print_operators(const fits *x)
{
	bench_head("operators | roofline: | fitted with it: | GPU left out: | and its overhead known: | each "
	           "GPU left out");
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class ++) {
		error_sum out = {0}, in = {0};
		int n = 0;
		char each[200] = "";
		for (int32_t d = 0; d < GPU_DEVICES; d++) {
			if (!x->seen[class][d])
				continue;
			error_sum a = judge(x, (berth_time_class) class, d, &x->fit[class][d]);
			in.known += judge(x, (berth_time_class) class, d, &x->fit[class][GPU_DEVICES]).known;
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

/* A model on a GPU, by numbers that were fitted without it. */
static double whole_seconds(const fits *x, const gpu_whole *w)
{
	double number[BERTH_N_TIME_CLASSES][BERTH_N_TIME_NUMBERS];
	berth_time_device d = x->rows.device[w->device];
	d.overhead_s = 5e-6;                              /* the host runs ahead */
	int32_t without = w->device == 1 ? 0 : w->device; /* of two kinds of A100 only one has operators */
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class ++)
		gpu_fit_numbers(&x->fit[class][x->seen[class][without] ? without : GPU_DEVICES],
		                berth_time_generation(&d), number[class]);
	return gpu_whole_seconds(w, &d, number);
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
	fprintf(f, "/* The numbers of the time model (gpu_times.h), fitted to public measurements by\n"
	           " * scripts/train-times, which writes this file; its card is in checkpoints/README.md. A "
	           "row is a\n"
	           " * generation, columns are berth_time_number. */\n#pragma once\n\n#include "
	           "\"gpu_times.h\"\n\n"
	           "/* clang-format off */\nstatic const double "
	           "fitted[BERTH_N_TIME_CLASSES][BERTH_N_GENERATIONS]"
	           "[BERTH_N_TIME_NUMBERS] = {\n");
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class ++) {
		fprintf(f, "\t[BERTH_TIME_%s] = {\n", class_words[class]);
		for (int g = 0; g < BERTH_N_GENERATIONS; g++) {
			double number[BERTH_N_TIME_NUMBERS];
			gpu_fit_numbers(&x->fit[class][GPU_DEVICES], g, number);
			for (int i = 0; i < BERTH_N_TIME_NUMBERS; i++)
				fprintf(f, "%s%.4g%s",
				        i == 0   ? "\t\t{"
				        : i % 10 ? " "
				                 : "\n\t\t ",
				        number[i], i + 1 < BERTH_N_TIME_NUMBERS ? "," : "},\n");
		}
		fprintf(f, "\t},\n");
	}
	fprintf(f, "};\n/* clang-format on */\n");
	if (fclose(f))
		bench_refuse("a file that cannot be written");
}

static void run_gpu_times(const bench_options *o)
{
	static fits x;
	BERTH_ARENA(mem);
	if (o->n_words < 1 || o->n_words > 2)
		bench_refuse("the folder of the measurements, unpacked, and perhaps the file to write");
	gpu_rows_read(o->word[0], &mem, &x.rows);
	fit_with_all(&x);
	if (o->n_words == 2)
		write_numbers(&x, o->word[1]);
	fit_without_each(&x);
	print_operators(&x);
	print_wholes(&x, o->word[0], &mem);
}

const bench_entry bench_gpu_times = {"gpu-times",
                                     "FOLDER [FILE]",
                                     "execution-model",
                                     "3 min",
                                     "fits the time model of GPUs and tells its errors on GPUs left out",
                                     {0},
                                     run_gpu_times};
