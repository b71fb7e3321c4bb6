/* A line of words (":batch=2", "unit=1e-3"), then any bytes as a graph of whatever format they begin like:
 * what a user gives to a command. */
#include "fuzz.h"
#include "load.h"
#include "mutate.h"

#include <string.h>

enum { MAX_WORDS = 6 };

/* Words of the first line, parted by blanks. */
static int32_t split(char *line, const char *word[MAX_WORDS])
{
	int32_t n = 0;
	for (char *p = line; *p && n < MAX_WORDS;) {
		size_t len = strcspn(p, " ");
		bool last = !p[len];
		p[len] = '\0';
		if (len)
			word[n++] = p;
		if (last)
			break;
		p += len + 1;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	const char *word[MAX_WORDS];
	berth_graph g;
	berth_read_report r;
	berth_err err = {0};
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : size;
	fuzz_begin(&a);
	berth_read_options opt = {.dim = word, .n_dims = split(fuzz_text(data, n, &a.mem), word)};
	n += end != NULL;
	berth_status st = berth_graph_parse("f", fuzz_text(data + n, size - n, &a.mem), size - n, &opt,
	                                    &a.mem, &a.tmp, &g, &r, &err);
	if (st != BERTH_OK) {
		must(st == BERTH_EFORMAT || st == BERTH_EINVAL || st == BERTH_ENOMEM);
		must(err.code == st && err.msg[0]);
		return 0;
	}
	must(berth_graph_check(&g, NULL) == BERTH_OK);
	if (fuzz_goes_deep(data, size))
		fuzz_use_graph(&g, &a.mem, &a.tmp);
	return 0;
}

/* The line as words; what follows as what it is. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {"batch=2",
	                                    "context=9",
	                                    "mode=decode",
	                                    "mode=prefill",
	                                    "experts=each",
	                                    "experts=all",
	                                    "chunk=2",
	                                    "cache=q8_0",
	                                    "weights=q4_k",
	                                    "weights=file",
	                                    "unit=1e-3",
	                                    "speed=4e9",
	                                    "bandwidth=1e8",
	                                    "N=3",
	                                    "training=1",
	                                    "=",
	                                    " ",
	                                    NULL};
	mutate_rng r = mutate_seed(seed);
	const uint8_t *end = memchr(data, '\n', size);
	size_t head = end ? (size_t)(end - data) + 1 : 0, n = size - head, max = max_size - head;
	uint8_t *rest = data + head;
	if (!head || mutate_below(&r, 4) == 0)
		return mutate_words(data, size, max_size, seed, words);
	if (n >= 4 && memcmp(rest, "GGUF", 4) == 0)
		return head + mutate_gguf(rest, n, max, seed);
	if (n && *rest == '{')
		return head + mutate_json(rest, n, max, seed, NULL);
	if (n && *rest < 32)
		return head + mutate_onnx(rest, n, max, seed);
	return head + mutate_words(rest, n, max, seed, NULL);
}
