/* Whole models on GPUs, operator by operator as traces of them have them. */
#include "gpu_whole.h"

#include <stdlib.h>
#include <string.h>

int gpu_wholes_read(const char *folder, berth_arena *mem, gpu_whole *out)
{
	static const char *const other[] = {"fusion", "switch", "-dp", "-tp", "-pp"};
	char *text = gpu_file(folder, "gpu-models.csv", mem), *cell[6];
	int n = 0;
	gpu_cells(&text, cell, 6);
	while (gpu_cells(&text, cell, 6) > 0 && n < GPU_WHOLES) {
		gpu_whole w = {gpu_device_named(cell[0]), cell[1], strstr(cell[1], "train") != NULL,
		               strtod(cell[2], NULL) * 1e-3};
		bool plain = w.device >= 0;
		for (size_t i = 0; i < sizeof other / sizeof *other; i++)
			plain &= !strstr(w.model, other[i]);
		if (plain)
			out[n++] = w;
	}
	return n;
}

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

/* Layers, width, heads, words. */
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

double gpu_whole_seconds(const gpu_whole *w, const berth_time_device *d,
                         double number[][BERTH_N_TIME_NUMBERS])
{
	const shape *x = NULL;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
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
