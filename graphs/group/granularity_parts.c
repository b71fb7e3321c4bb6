/* Parts of layers: told by names (experts, numbered scopes), else cut behind operators that join several
 * tensors where nothing else goes on. */
#include "granularity_find.h"

#include "sort.h"

#include <ctype.h>

/* ---- parts told by names ---- */

static bool contains(const char *text, size_t at, size_t end, const char *word)
{
	size_t n = strlen(word);
	for (size_t i = at; i + n <= end; i++)
		if (memcmp(text + i, word, n) == 0)
			return true;
	return false;
}

static bool is_number(const char *text, size_t at, size_t end)
{
	while (at < end && isdigit((unsigned char)text[at]))
		at++;
	return at == end;
}

/* What tells the part of a layer in a name, from byte `at` on. */
typedef struct part_name {
	size_t end;   /* of the name's bytes that tell it; 0: nothing does */
	bool experts; /* all experts of the layer, which the words "exps" and "experts" tell of */
} part_name;

static part_name part_in(const char *name, size_t at)
{
	size_t end;
	bool last;
	while (block_scope(name, &at, &end, &last)) {
		bool experts = contains(name, at, end, "experts");
		size_t next = end, next_end;
		bool next_last;
		if (experts && block_scope(name, &next, &next_end, &next_last) && !next_last &&
		    is_number(name, next, next_end))
			return (part_name){next_end, false};
		if (experts || contains(name, at, end, "exps"))
			return (part_name){0, true};
		if (!last && isdigit((unsigned char)name[end - 1]) && !is_number(name, at, end))
			return (part_name){end, false};
		at = end;
	}
	return (part_name){0, false};
}

/* Operators by layer, in topological order. */
typedef struct cutter {
	block_finder *f;
	berth_strmap names;
	int32_t n_layers, *off, *op;
	int32_t *op_at;   /* [n_ops] place in its layer */
	int32_t *op_part; /* [n_ops] new labels */
	int32_t *last;    /* [n_tensors] scratch: place of the last use in the layer, plus one */
	int32_t *ends;    /* [n_ops + 1] scratch */
} cutter;

static berth_status new_part(cutter *c, const char *name, int32_t *label)
{
	block_finder *f = c->f;
	for (int32_t i = 2;; i++) {
		int32_t found;
		BERTH_TRY(berth_strmap_add(&c->names, name, f->n_labels, &found, f->err));
		if (found == f->n_labels)
			return block_label(f, name, 0, label);
		BERTH_TRY(berth_got(name = berth_arena_printf(f->mem, "%s/%d", f->name[found], i), f->err));
	}
}

/* Numbered experts, and other parts whose scope ends in a number. */
static berth_status take_numbered(cutter *c, int32_t op, size_t end)
{
	block_finder *f = c->f;
	const char *name = f->g->op_name[f->op_root[op]], *key;
	name += strspn(name, "./:");
	end -= (size_t)(name - f->g->op_name[f->op_root[op]]);
	BERTH_TRY(berth_got(key = berth_arena_strndup(f->mem, name, end), f->err));
	int32_t label = berth_strmap_get(&c->names, key);
	if (label < 0)
		BERTH_TRY(new_part(c, key, &label));
	c->op_part[op] = label;
	return BERTH_OK;
}

static berth_status parts_by_name(cutter *c, int32_t layer)
{
	block_finder *f = c->f;
	int32_t experts = -1;
	bool numbered = false;
	if (!f->name_len[layer])
		return BERTH_OK;
	BERTH_EACH (i, c->off, layer) {
		int32_t op = c->op[i];
		part_name part = part_in(f->g->op_name[f->op_root[op]], f->name_len[layer]);
		if (part.end)
			BERTH_TRY(take_numbered(c, op, part.end));
		numbered |= part.end > 0;
	}
	for (int32_t i = c->off[layer]; i < c->off[layer + 1] && !numbered; i++)
		if (part_in(f->g->op_name[f->op_root[c->op[i]]], f->name_len[layer]).experts) {
			if (experts < 0) {
				const char *name =
					berth_arena_printf(c->f->mem, "%s.experts", c->f->name[layer]);
				BERTH_TRY(berth_got(name, c->f->err));
				BERTH_TRY(new_part(c, name, &experts));
			}
			c->op_part[c->op[i]] = experts;
		}
	return BERTH_OK;
}

/* ---- parts that end where tensors are joined ---- */

static bool in_layer(const cutter *c, int32_t layer, int32_t op)
{
	const block_finder *f = c->f;
	return f->op_label[op] == layer && f->op_root[op] == op && !f->g->op_backward[op];
}

/* c->last of the tensor: its last forward use in the layer, or the layer's end where it is made here and used
 * behind. */
static void find_last(cutter *c, int32_t layer, int32_t t)
{
	const berth_graph *g = c->f->g;
	bool made_here = c->f->op_label[g->tensor_producer[t]] == layer;
	c->last[t] = 0;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t op = g->edge_consumer[e], at = in_layer(c, layer, op) ? c->op_at[op] + 1 : 0;
		if (!at && made_here && c->f->op_root[op] == op && !g->op_backward[op])
			at = c->off[layer + 1] - c->off[layer] + 1;
		c->last[t] = at > c->last[t] ? at : c->last[t];
	}
}

/* Tensors of the layer that are to be used from place 0 on: those that come from outside. */
static int32_t enter(cutter *c, int32_t layer)
{
	const berth_graph *g = c->f->g;
	int32_t n = c->off[layer + 1] - c->off[layer], live = 0;
	memset(c->ends, 0, ((size_t)n + 1) * sizeof *c->ends);
	for (int32_t k = 0; k < n; k++) {
		int32_t op = c->op[c->off[layer] + k];
		BERTH_EACH (t, g->op_tensor_off, op)
			find_last(c, layer, t);
		BERTH_EACH (i, g->op_in_off, op)
			find_last(c, layer, g->in_tensor[i]);
	}
	for (int32_t k = 0; k < n; k++) {
		int32_t op = c->op[c->off[layer] + k];
		for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1] && in_layer(c, layer, op); i++) {
			int32_t t = g->in_tensor[i];
			if (c->last[t] != k + 1)
				continue;
			live += c->f->op_label[g->tensor_producer[t]] != layer;
			c->ends[k]++;
		}
	}
	return live;
}

/* place [n] of the layer: the part it is in; returns how many there are. */
static int32_t cut_at_joins(cutter *c, int32_t layer, int32_t *part)
{
	const berth_graph *g = c->f->g;
	int32_t n = c->off[layer + 1] - c->off[layer], live = enter(c, layer), n_parts = 0, last_end = 0;
	for (int32_t k = 0; k < n; k++) {
		int32_t op = c->op[c->off[layer] + k];
		part[k] = n_parts;
		if (!in_layer(c, layer, op))
			continue;
		BERTH_EACH (t, g->op_tensor_off, op)
			live += c->last[t] > k + 1;
		live -= c->ends[k];
		if (live <= 1 && (g->op_in_off[op + 1] - g->op_in_off[op]) > 1) {
			n_parts++;
			last_end = k + 1;
		}
	}
	for (int32_t k = last_end; k < n && n_parts; k++) /* what comes behind the last join belongs to it */
		part[k] = n_parts - 1;
	return n_parts ? n_parts : 1;
}

/* ---- names of those parts ---- */

/* The scope behind the layer's, or its first word; NULL where it is no scope. */
static const char *word_of(const cutter *c, int32_t layer, int32_t op, bool whole)
{
	const char *name = c->f->g->op_name[c->f->op_root[op]];
	size_t at = c->f->name_len[layer], end;
	bool last;
	if (!block_scope(name, &at, &end, &last) || (whole && last))
		return NULL;
	size_t word = strcspn(name + at, "_");
	return berth_arena_strndup(c->f->tmp, name + at, whole || at + word > end ? end - at : word);
}

/* The word that at least half of the part's operators have, or NULL. Then it is that of the last one that has
 * any: the residual addition. */
static const char *common_word(const cutter *c, int32_t layer, const int32_t *part, int32_t which, bool whole)
{
	const char *candidate = NULL;
	int32_t votes = 0, all = 0, same = 0;
	for (int pass = 0; pass < 2; pass++)
		BERTH_EACH (i, c->off, layer) {
			if (part[i - c->off[layer]] != which || c->op_part[c->op[i]] >= 0)
				continue;
			const char *word = word_of(c, layer, c->op[i], whole);
			bool equal = word && candidate && strcmp(word, candidate) == 0;
			if (pass) {
				all++;
				same += equal;
			} else if (votes == 0) {
				candidate = word;
				votes = word != NULL;
			} else {
				votes += equal ? 1 : -1;
			}
		}
	return 2 * same >= all ? candidate : NULL;
}

static berth_status name_part(cutter *c, int32_t layer, const int32_t *part, int32_t which, int32_t *label)
{
	const char *layer_name = c->f->name[layer], *word = NULL, *name;
	if (c->f->name_len[layer])
		word = common_word(c, layer, part, which, true);
	if (c->f->name_len[layer] && !word)
		word = common_word(c, layer, part, which, false);
	for (int32_t i = c->off[layer + 1] - 1; c->f->name_len[layer] && !word && i >= c->off[layer]; i--)
		if (part[i - c->off[layer]] == which && c->op_part[c->op[i]] < 0)
			word = word_of(c, layer, c->op[i], true);
	name = word && *word ? berth_arena_printf(c->f->mem, "%s.%s", layer_name, word)
	                     : berth_arena_printf(c->f->mem, "%s/%d", layer_name, which + 1);
	return name ? new_part(c, name, label) : berth_nomem(c->f->err);
}

/* ---- all of it ---- */

static berth_status sort_by_layer(cutter *c)
{
	block_finder *f = c->f;
	int32_t n = f->g->n_ops, *key;
	BERTH_TRY_NEW(f->tmp, n, f->err, key);
	for (int32_t k = 0; k < n; k++)
		key[k] = f->op_label[f->g->topo_op[k]];
	c->n_layers = f->n_labels;
	BERTH_TRY(berth_csr_new(c->n_layers, n, key, f->g->topo_op, f->tmp, &c->off, &c->op, f->err));
	BERTH_TRY_NEW(f->tmp, n, f->err, c->op_at, c->op_part);
	BERTH_TRY_NEW(f->tmp, f->g->n_tensors, f->err, c->last);
	BERTH_TRY_NEW(f->tmp, (size_t)n + 1, f->err, c->ends);
	for (int32_t l = 0; l < c->n_layers; l++)
		BERTH_EACH (i, c->off, l) {
			c->op_at[c->op[i]] = i - c->off[l];
			c->op_part[c->op[i]] = -1;
		}
	return BERTH_OK;
}

berth_status blocks_into_parts(block_finder *f)
{
	cutter c = {.f = f};
	int32_t *part, *part_label;
	berth_strmap_init(&c.names, f->tmp);
	BERTH_TRY(sort_by_layer(&c));
	BERTH_TRY_NEW(f->tmp, f->g->n_ops, f->err, part, part_label);
	for (int32_t layer = 0; layer < c.n_layers; layer++)
		if (f->layer[layer]) {
			int32_t n = c.off[layer + 1] - c.off[layer];
			BERTH_TRY(parts_by_name(&c, layer));
			int32_t n_parts = cut_at_joins(&c, layer, part);
			bool whole = n_parts == 1;
			for (int32_t k = 0; k < n; k++)
				whole &= c.op_part[c.op[c.off[layer] + k]] < 0;
			for (int32_t i = 0; i < n_parts; i++)
				part_label[i] = whole ? layer : -1;
			for (int32_t k = 0; k < n; k++) {
				int32_t op = c.op[c.off[layer] + k];
				if (c.op_part[op] >= 0)
					continue;
				if (part_label[part[k]] < 0)
					BERTH_TRY(name_part(&c, layer, part, part[k], &part_label[part[k]]));
				c.op_part[op] = part_label[part[k]];
			}
		}
	for (int32_t op = 0; op < f->g->n_ops; op++)
		if (c.op_part[f->op_root[op]] >= 0)
			f->op_label[op] = c.op_part[f->op_root[op]];
	return BERTH_OK;
}
