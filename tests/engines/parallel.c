/* Does ONNX Runtime's parallel mode pay? Two operators at once on a thread each, against one after the other
 * on one thread and on two, in turns.
 *   berth-ort-parallel TURNS MODEL...
 * Prints a line for each model: milliseconds of the quickest turns, and the parallel mode's time over the
 * others', the median of the turns. By the wall's clock: a machine that others use makes it louder, not
 * another one. Leaves with 77 where the library is not installed. */
#include "ort_model.h"
#include "statistics.h"
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, WARMUP = 2, MOST_TURNS = 1000, N_WAYS = 3 };

static const ort_session_cfg ways[N_WAYS] = {{.threads = 1, .level = ORT_ALL, .at_once = 2},
                                             {.threads = 1, .level = ORT_ALL},
                                             {.threads = 2, .level = ORT_ALL}};

static berth_status run(ort_model *m, ort_session *s, ort_value **out, double *seconds, berth_err *err)
{
	double from = berth_wall_seconds();
	BERTH_TRY(ort_model_run_whole(m, s, out, err));
	*seconds = berth_wall_seconds() - from;
	for (size_t o = 0; o < m->onnx.n_outputs; o++) {
		ort_value_free(m->lib, out[o]);
		out[o] = NULL;
	}
	return BERTH_OK;
}

static berth_status measure(ort_model *m, const char *path, int turns, berth_arena *mem, berth_err *err)
{
	static double took[N_WAYS][MOST_TURNS], ratio[N_WAYS][MOST_TURNS];
	double least[N_WAYS] = {0}, unused;
	ort_session *s[N_WAYS] = {NULL};
	ort_value **out;
	berth_status st = BERTH_OK;
	BERTH_TRY_NEW(mem, m->onnx.n_outputs, err, out);
	for (int w = 0; w < N_WAYS && st == BERTH_OK; w++)
		st = ort_model_session(m, &ways[w], &s[w], err);
	for (int i = -WARMUP; i < turns && st == BERTH_OK; i++)
		for (int w = 0; w < N_WAYS && st == BERTH_OK; w++)
			st = run(m, s[w], out, i < 0 ? &unused : &took[w][i], err);
	for (int i = 0; i < turns && st == BERTH_OK; i++)
		for (int w = 0; w < N_WAYS; w++) {
			least[w] = i == 0 || took[w][i] < least[w] ? took[w][i] : least[w];
			ratio[w][i] = took[0][i] / took[w][i];
		}
	if (st == BERTH_OK)
		printf("%s: %.2f ms at once, %.2f on one thread (%.2f), %.2f on two (%.2f)\n", path,
		       1e3 * least[0], 1e3 * least[1], berth_median(ratio[1], turns, mem), 1e3 * least[2],
		       berth_median(ratio[2], turns, mem));
	for (int w = 0; w < N_WAYS; w++)
		if (s[w])
			ort_session_free(m->lib, s[w]);
	return st;
}

int main(int argc, char **argv)
{
	BERTH_ARENA(mem);
	berth_err err = {0};
	ort_lib *lib;
	const int turns = argc > 2 ? atoi(argv[1]) : 0;
	if (turns < 1 || turns > MOST_TURNS) {
		fprintf(stderr, "usage: berth-ort-parallel TURNS MODEL...\n");
		return 2;
	}
	if (ort_open(NULL, &mem, &lib, &err) != BERTH_OK) {
		fprintf(stderr, "skipped: %s\n", err.msg);
		return SKIPPED;
	}
	for (int i = 2; i < argc; i++) {
		const berth_read_options words = {0};
		ort_model m = {0};
		berth_status st = ort_model_open(lib, argv[i], &words, ORT_ALL, NULL, &mem, &m, &err);
		if (st == BERTH_OK)
			st = measure(&m, argv[i], turns, &mem, &err);
		ort_model_close(&m);
		if (st != BERTH_OK) {
			fprintf(stderr, "%s: %s\n", argv[i], err.msg);
			return 1;
		}
		fflush(stdout);
	}
	return 0;
}
