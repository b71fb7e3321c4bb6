/* Where operators stand: what engines call devices, and operators that the file does not tell of. A word is,
 * in this order: what --device told, a name of the system, the kind of one device alone, or what engines mean
 * by it: a family (cpu, gpu, npu, disk) and a number that counts the devices of that family in the order of
 * the system. */
#include "exporters.h"
#include "granularity.h"
#include "import_reading.h"

typedef struct family {
	const char *begins, *or_begins; /* as devices of the system are called */
	const char *words;              /* in lower case, without a number, each between blanks */
} family;

static const family families[] = {
	{"cpu", NULL, " cpu "},
	{"gpu", "cuda",
         "  gpu cuda tensorrt nvtensorrtrtx rocm hip migraphx vulkan metal mtl mps sycl opencl webgpu js dml "
         "musa "
         "xpu "},
	{"npu", NULL, " npu qnn vitisai coreml cann hpu "},
	{"disk", "storage", " disk "},
};

/* "CUDA1", "cuda:1", "GPU.1", "1", "CUDAExecutionProvider": the family's word and the number, 0 where it has
 * none of its own. Has it one? */
static bool take_apart(const char *word, char base[64], int32_t *number)
{
	static const char provider[] = "executionprovider";
	size_t n = 0, end = sizeof provider - 1;
	for (; word[n] && n < 63; n++)
		base[n] = (char)(word[n] >= 'A' && word[n] <= 'Z' ? word[n] - 'A' + 'a' : word[n]);
	base[n] = '\0';
	*number = 0;
	if (n > end && strcmp(base + n - end, provider) == 0) {
		base[n - end] = '\0';
		return false;
	}
	size_t digits = n;
	while (digits > 0 && n - digits < 4 && base[digits - 1] >= '0' && base[digits - 1] <= '9')
		digits--;
	if (digits == n)
		return false;
	uint64_t value = 0;
	berth_text_whole(base + digits, n - digits, INT32_MAX, &value);
	*number = (int)value;
	if (digits > 0 && (base[digits - 1] == ':' || base[digits - 1] == '.'))
		digits--;
	base[digits] = '\0';
	return true;
}

static bool is_of(const berth_system *s, int32_t d, const family *f)
{
	return berth_system_is(s, d, f->begins) || (f->or_begins && berth_system_is(s, d, f->or_begins));
}

/* NULL: engines have no such word. A number alone is a GPU's. */
static const family *find_family(const char *base)
{
	char word[80];
	snprintf(word, sizeof word, " %s ", base);
	for (size_t i = 0; i < sizeof families / sizeof *families && !strchr(base, ' '); i++)
		if (strstr(families[i].words, word))
			return &families[i];
	return NULL;
}

/* The number-th device of the word's family; -1: the system has none. */
static int32_t usual_device(const berth_system *s, const char *word)
{
	char base[64];
	int32_t number;
	take_apart(word, base, &number);
	const family *f = find_family(base);
	for (int32_t d = 0; f && d < s->n_devs; d++)
		if (is_of(s, d, f) && number-- == 0)
			return d;
	return -1;
}

/* Are the words those of two devices of an engine? CUDA0 and CUDA1 are, RPC0 and CUDA0 too. Providers that
 * share a device (TensorRT's and CUDA's) are not, nor are "0" and "cuda:0". */
static bool are_two(const char *a, const char *b)
{
	char base_a[64], base_b[64];
	int32_t number_a, number_b;
	bool numbered_a = take_apart(a, base_a, &number_a), numbered_b = take_apart(b, base_b, &number_b);
	if (strcmp(base_a, base_b) == 0)
		return number_a != number_b;
	return numbered_a && numbered_b &&
	       (number_a != number_b || !find_family(base_a) || !find_family(base_b));
}

static berth_status told_device(const berth_import *m, const char *word, int32_t *dev, berth_err *err)
{
	const berth_system *s = m->x->s;
	*dev = -1;
	for (int32_t d = 0; m->x->theirs && d < s->n_devs; d++) {
		if (!m->x->theirs[d] || strcmp(m->x->theirs[d], word) != 0)
			continue;
		if (*dev >= 0)
			return berth_fail(err, BERTH_EINVAL,
			                  "option --device: '%.80s' of %s is told to be '%.80s' and '%.80s'; "
			                  "one of the two",
			                  word, m->x->file, s->dev_name[*dev], s->dev_name[d]);
		*dev = d;
	}
	return BERTH_OK;
}

/* By name, else by a kind that one device alone has. */
static int32_t named_device(const berth_system *s, const char *word)
{
	int32_t found = -1, n = 0;
	for (int32_t d = 0; d < s->n_devs; d++)
		if (strcmp(s->dev_name[d], word) == 0)
			return d;
	for (int32_t d = 0; d < s->n_devs; d++)
		if (strcmp(s->dev_kind[d], word) == 0) {
			found = d;
			n++;
		}
	return n == 1 ? found : -1;
}

enum { SHOWN = 8 }; /* names of a list in a message */

static berth_status join(const char *const *name, int32_t n, berth_arena *mem, const char **out,
                         berth_err *err)
{
	berth_strbuf b = {.mem = mem};
	for (int32_t i = 0; i < n && i < SHOWN; i++)
		berth_strbuf_printf(&b, "%s%.24s", i ? ", " : "", name[i]);
	if (n > SHOWN)
		berth_strbuf_printf(&b, " and %d more", n - SHOWN);
	return berth_strbuf_done(&b, out, NULL, err);
}

/* What is told has to be a word of the file: else it is a slip, and would be lost. */
static berth_status check_told(const berth_import *m, berth_err *err)
{
	const char *names;
	char hint[160];
	for (int32_t d = 0; m->x->theirs && d < m->x->s->n_devs; d++) {
		const char *word = m->x->theirs[d];
		if (!word || berth_strmap_get(&m->words, word) >= 0)
			continue;
		BERTH_TRY(join(m->word, m->n_words, m->tmp, &names, err));
		return berth_fail(err, BERTH_EINVAL,
		                  "option --device: '%.80s' is no device of %.100s%s: the file names %.180s",
		                  word, m->x->file,
		                  berth_text_suggest(hint, sizeof hint, word, m->word, m->n_words), names);
	}
	return BERTH_OK;
}

berth_status berth_import_devices(const berth_import *m, berth_import_device *device, berth_err *err)
{
	BERTH_TRY(check_told(m, err));
	for (int32_t w = 0; w < m->n_words; w++) {
		berth_import_device *d = &device[w];
		*d = (berth_import_device){.word = m->word[w], .n_ops = m->word_ops[w]};
		BERTH_TRY(told_device(m, d->word, &d->dev, err));
		if (d->dev < 0)
			d->dev = named_device(m->x->s, d->word);
		if (d->dev >= 0)
			continue;
		d->dev = usual_device(m->x->s, d->word);
		d->guessed = true;
		if (d->dev < 0) {
			const char *has, *names;
			BERTH_TRY(join(m->x->s->dev_name, m->x->s->n_devs, m->tmp, &has, err));
			BERTH_TRY(join(m->word, m->n_words, m->tmp, &names, err));
			return berth_fail(err, BERTH_EFORMAT,
			                  "%.100s: system '%.40s' has no device '%.40s': it has %.180s; the "
			                  "file names %.180s (--device NAME=%.40s says which one is meant)",
			                  m->x->file, m->x->s->name, d->word, has, names, d->word);
		}
	}
	for (int32_t w = 0; w < m->n_words; w++)
		if (device[w].guessed) {
			/* A guess takes no device that another of the engine's devices has, as far as
			 * operators stand there. */
			const berth_import_device *x = &device[w];
			const char *told = m->x->theirs ? m->x->theirs[x->dev] : NULL;
			for (int32_t i = 0; i < m->n_words; i++) {
				const berth_import_device *o = &device[i];
				if (o->dev == x->dev && o->n_ops && x->n_ops && are_two(o->word, x->word))
					return berth_fail(
						err, BERTH_EFORMAT,
						"%.100s: '%.40s' would be '%.40s', which '%.40s' is%s; "
						"--device NAME=%.40s says which one is meant",
						m->x->file, x->word, m->x->s->dev_name[x->dev], o->word,
						told && strcmp(told, o->word) == 0 ? " told to be" : "",
						x->word);
			}
		}
	return BERTH_OK;
}

/* ---- operators that the file does not tell of ---- */

/* Beside the rest of its kernel, which is known by what comes out of it, the last one named; else beside what
 * makes an input. */
static berth_status go_with_producer(const berth_importer *from, const berth_graph *g,
                                     berth_import_plan *plan, berth_arena *mem, berth_arena *tmp,
                                     berth_err *err)
{
	berth_granularity kernels;
	int32_t *named; /* of each kernel, an operator with a device, + 1 */
	BERTH_TRY(berth_granularity_find(g, from->fuses ? BERTH_GRAIN_KERNEL : BERTH_GRAIN_OP, mem, tmp,
	                                 &kernels, err));
	BERTH_TRY_NEW(mem, kernels.n_blocks, err, named);
	for (int32_t i = 0; i < g->n_ops; i++)
		if (plan->op_dev[g->topo_op[i]] >= 0)
			named[kernels.op_block[g->topo_op[i]]] = g->topo_op[i] + 1;
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i], *with = &named[kernels.op_block[op]];
		if (plan->op_dev[op] >= 0)
			continue;
		if (*with) {
			plan->op_dev[op] = plan->op_dev[*with - 1];
			plan->n_fused++;
			continue;
		}
		for (int32_t k = g->op_in_off[op]; plan->op_dev[op] < 0 && k < g->op_in_off[op + 1]; k++)
			plan->op_dev[op] = plan->op_dev[g->tensor_producer[g->in_tensor[k]]];
		if (plan->op_dev[op] < 0)
			continue;
		plan->n_producer++;
		*with = op + 1;
	}
	return BERTH_OK;
}

static void go_with_taker(const berth_graph *g, berth_import_plan *plan)
{
	for (int32_t i = g->n_ops; i-- > 0;) {
		int32_t op = g->topo_op[i], from = g->tensor_use_off[g->op_tensor_off[op]],
			to = g->tensor_use_off[g->op_tensor_off[op + 1]];
		if (plan->op_dev[op] >= 0)
			continue;
		for (int32_t e = from; e < to && plan->op_dev[op] < 0; e++)
			plan->op_dev[op] = plan->op_dev[g->edge_consumer[e]];
		plan->n_taker += plan->op_dev[op] >= 0;
	}
}

berth_status berth_import_fill(const berth_importer *from, const berth_graph *g, berth_import_plan *plan,
                               berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(go_with_producer(from, g, plan, mem, tmp, err));
	go_with_taker(g, plan);
	for (int32_t op = 0; op < g->n_ops; op++)
		if (plan->op_dev[op] < 0) {
			int32_t best = 0;
			for (int32_t i = 1; i < plan->n_devices; i++)
				if (plan->device[i].n_ops > plan->device[best].n_ops)
					best = i;
			plan->op_dev[op] = plan->n_devices ? plan->device[best].dev : 0;
			plan->n_alone++;
		}
	return BERTH_OK;
}
