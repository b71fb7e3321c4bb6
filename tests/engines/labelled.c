/* Does ONNX Runtime take a labelled model, and compute the same? Both models are run with the same weights
 * and inputs, unoptimised and as the runtime does by itself; outputs are compared byte by byte.
 *   berth-ort-labelled ORIGINAL LABELLED KEY VALUE
 * KEY and VALUE: the session option that berth told. Prints what was compared. Leaves with 77 where the
 * runtime is not installed, with 1 where it refuses the model or outputs differ. */
#include "ort_model.h"

#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77 };

static int fail(const char *what, const berth_err *err)
{
	fprintf(stderr, "%s: %s\n", what, err ? err->msg : "");
	return 1;
}

static int compare(const ort_model *a, const ort_model *b, size_t *bytes)
{
	if (a->onnx.n_outputs != b->onnx.n_outputs || a->onnx.n_values != b->onnx.n_values)
		return fail("other outputs or values", NULL);
	for (size_t o = 0; o < a->onnx.n_outputs; o++) {
		const ort_shape *s = &a->shape[a->onnx.output[o]];
		if (s->bytes != b->shape[b->onnx.output[o]].bytes ||
		    memcmp(a->expected[o], b->expected[o], s->bytes) != 0)
			return fail("outputs differ", NULL);
		*bytes += s->bytes;
	}
	return 0;
}

static int check(ort_lib *lib, char **argv, int level, size_t *bytes)
{
	const char *const config[] = {argv[3], argv[4], NULL};
	berth_read_options words = {.dim = (const char *const *)(argv + 5)};
	while (argv[5 + words.n_dims])
		words.n_dims++;
	berth_arena mem = {0};
	ort_model plain = {0}, labelled = {0};
	berth_err err;
	int bad;
	if (ort_model_open(lib, argv[1], &words, level, NULL, &mem, &plain, &err) != BERTH_OK)
		bad = fail(argv[1], &err);
	else if (ort_model_open(lib, argv[2], &words, level, config, &mem, &labelled, &err) != BERTH_OK)
		bad = fail(argv[2], &err);
	else
		bad = compare(&plain, &labelled, bytes);
	ort_model_close(&plain);
	ort_model_close(&labelled);
	berth_arena_free(&mem);
	return bad;
}

int main(int argc, char **argv)
{
	berth_arena mem = {0};
	berth_err err;
	ort_lib *lib;
	size_t bytes = 0;
	if (argc < 5)
		return fail("usage: berth-ort-labelled ORIGINAL LABELLED KEY VALUE [WORD=N...]", NULL);
	if (ort_open(NULL, &mem, &lib, &err) != BERTH_OK) {
		fprintf(stderr, "skipped: %s\n", err.msg);
		berth_arena_free(&mem);
		return SKIPPED;
	}
	int bad = check(lib, argv, ORT_PLAIN, &bytes) || check(lib, argv, ORT_ALL, &bytes);
	if (!bad)
		printf("same outputs, %zu bytes\n", bytes);
	berth_arena_free(&mem);
	return bad;
}
