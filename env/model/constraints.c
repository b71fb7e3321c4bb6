/* Rules of placements; see constraints.h. */
#include "constraints.h"

#include "contiguity.h"
#include "cuts.h"
#include "sort.h"
#include "text.h"

#include <math.h>
#include <string.h>

enum { WORD = 64 };

static bool same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* ---- one operator, one device ---- */

bool berth_op_forbids(const berth_problem *p, int32_t op, int32_t dev)
{
	const berth_graph *g = p->g;
	for (int32_t i = g->op_forbid_off[op]; i < g->op_forbid_off[op + 1]; i++)
		if (same(g->forbid_dev[i], p->s->dev_name[dev]))
			return true;
	return false;
}

bool berth_op_allows(const berth_problem *p, int32_t op, int32_t dev)
{
	const char *pin = p->g->op_pin[op];
	return berth_op_time(p, op, dev) >= 0 && (!pin || same(pin, p->s->dev_name[dev])) &&
	       !berth_op_forbids(p, op, dev);
}

static berth_status check_pin(const berth_problem *p, int32_t op, berth_err *err)
{
	const char *pin = p->g->op_pin[op];
	char hint[96];
	if (!pin || berth_system_find_dev(p->s, pin) >= 0)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT,
	                  "operator '%s' is pinned to '%s', which system '%s' does not have%s",
	                  p->g->op_name[op], pin, p->s->name,
	                  berth_text_suggest(hint, sizeof hint, pin, p->s->dev_name, p->n_devs));
}

/* ---- compiling ---- */

static berth_status colocs(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *coloc_of_name;
	BERTH_TRY(BERTH_NEW(mem, p->op_coloc, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, coloc_of_name, g->n_coloc_names, err));
	for (int32_t c = 0; c < g->n_coloc_names; c++)
		coloc_of_name[c] = -1;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t c = g->op_coloc_name[op];
		if (c >= 0 && coloc_of_name[c] >= 0) {
			p->op_coloc[op] = coloc_of_name[c];
			continue;
		}
		p->op_coloc[op] = p->n_colocs;
		if (c >= 0)
			coloc_of_name[c] = p->n_colocs;
		p->n_colocs++;
	}
	return berth_csr_new(p->n_colocs, p->n_ops, p->op_coloc, NULL, mem, &p->coloc_off, &p->coloc_op, err);
}

static berth_status legal_devices(berth_problem *p, berth_arena *mem, berth_err *err)
{
	size_t n = (size_t)p->n_devs;
	BERTH_TRY(BERTH_NEW(mem, p->op_dev_legal, (size_t)p->n_ops * n, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		BERTH_TRY(check_pin(p, op, err));
	for (int32_t u = 0; u < p->n_colocs; u++)
		for (int32_t dev = 0; dev < p->n_devs; dev++) {
			bool ok = true;
			for (int32_t i = p->coloc_off[u]; i < p->coloc_off[u + 1]; i++)
				ok = ok && berth_op_allows(p, p->coloc_op[i], dev);
			for (int32_t i = p->coloc_off[u]; i < p->coloc_off[u + 1]; i++)
				p->op_dev_legal[(size_t)p->coloc_op[i] * n + (size_t)dev] = ok;
		}
	return BERTH_OK;
}

static berth_status device_rules(berth_problem *p, berth_arena *mem, berth_err *err)
{
	const berth_system *s = p->s;
	BERTH_TRY(BERTH_NEW(mem, p->dev_limit_bytes, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(mem, p->dev_piece, p->n_devs, err));
	for (int32_t d = 0; d < p->n_devs; d++) {
		int64_t bytes = s->dev_memory_bytes[d];
		double margin = s->dev_memory_margin[d];
		p->dev_limit_bytes[d] =
			bytes >= 0 && margin > 0 ? bytes - (int64_t)ceil((double)bytes * margin) : bytes;
		p->dev_piece[d] = s->dev_contiguous[d] ? p->n_pieces++ : -1;
	}
	return BERTH_OK;
}

berth_status berth_constraints_compile(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *sep_ops;
	BERTH_TRY(colocs(p, mem, tmp, err));
	BERTH_TRY(legal_devices(p, mem, err));
	BERTH_TRY(device_rules(p, mem, err));
	BERTH_TRY(BERTH_NEW(tmp, sep_ops, g->n_seps, err));
	BERTH_TRY(berth_cuts_compile(p, mem, tmp, err));
	p->coupled = p->n_pieces > 0 || p->max_cuts >= 0;
	for (int32_t op = 0; op < p->n_ops; op++)
		if (g->op_sep[op] >= 0)
			p->coupled |= ++sep_ops[g->op_sep[op]] > 1;
	return BERTH_OK;
}

/* ---- counting ---- */

static size_t dev_words(const berth_problem *p)
{
	return ((size_t)p->n_devs + WORD - 1) / WORD;
}

size_t berth_constraints_scratch(const berth_problem *p)
{
	size_t seps = dev_words(p) * (size_t)p->g->n_seps,
	       pieces = 2 * contiguity_words(p) * ((size_t)p->n_ops + 1);
	return (seps > pieces ? seps : pieces) + 1;
}

static int64_t separation_broken(const berth_problem *p, const int32_t *op_dev, uint64_t *taken)
{
	const berth_graph *g = p->g;
	size_t words = dev_words(p);
	int64_t broken = 0;
	memset(taken, 0, words * (size_t)g->n_seps * sizeof *taken);
	for (int32_t op = 0; op < p->n_ops && g->n_seps; op++) {
		if (g->op_sep[op] < 0)
			continue;
		uint64_t *word = &taken[(size_t)g->op_sep[op] * words + (size_t)op_dev[op] / WORD],
			 bit = UINT64_C(1) << (op_dev[op] % WORD);
		broken += (*word & bit) != 0;
		*word |= bit;
	}
	return broken;
}

int64_t berth_groups_broken(const berth_problem *p, const int32_t *op_dev, uint64_t *scratch)
{
	if (!p->coupled)
		return 0;
	return separation_broken(p, op_dev, scratch) +
	       (p->n_pieces ? contiguity_broken(p, op_dev, NULL, scratch) : 0);
}

int64_t berth_constraints_broken(const berth_problem *p, const int32_t *op_dev, uint64_t *scratch)
{
	return berth_groups_broken(p, op_dev, scratch) + berth_cuts_above(p, op_dev);
}

const char *berth_constraints_joining(const berth_problem *p)
{
	bool joined = p->n_pieces > 0 || p->g->n_seps > 0;
	return p->max_cuts < 0 ? "separation and contiguity"
	       : joined        ? "separation, contiguity and cuts"
	                       : "cuts";
}

void berth_constraints_reentries(const berth_problem *p, const int32_t *op_dev, uint8_t *breaks,
                                 uint64_t *scratch)
{
	memset(breaks, 0, (size_t)p->n_ops * sizeof *breaks);
	if (p->n_pieces)
		contiguity_broken(p, op_dev, breaks, scratch);
}
