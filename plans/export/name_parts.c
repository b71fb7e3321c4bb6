/* Which beginnings of names are parts of other names: a trie of all names with the links of Aho and Corasick
 * (CACM 18, 1975). */
#include "name_parts.h"

static int32_t child_of(name_parts *x, int32_t at, char letter)
{
	int32_t c = x->node[at].child;
	for (x->n_steps++; c && x->node[c].letter != letter; x->n_steps++)
		c = x->node[c].sibling;
	return c;
}

static void own(name_parts_node *node, int32_t owner)
{
	node->owner = node->owner == -1 || node->owner == owner ? owner : NAME_PARTS_MANY;
}

static void add_name(name_parts *x, const char *name, int32_t owner)
{
	int32_t at = 0;
	for (; *name; name++) {
		int32_t c = child_of(x, at, *name);
		if (!c) {
			c = x->n_nodes++;
			x->node[c] = (name_parts_node){
				.letter = *name, .owner = -1, .sibling = x->node[at].child};
			x->node[at].child = c;
		}
		own(&x->node[c], owner);
		at = c;
	}
}

/* The node of `link`'s beginning, or of its longest end, that goes on with the letter. */
static int32_t follow(name_parts *x, int32_t link, char letter)
{
	int32_t c = child_of(x, link, letter);
	while (!c && link) {
		link = x->node[link].link;
		c = child_of(x, link, letter);
	}
	return c;
}

/* Level by level: links go to shorter beginnings. order [n_nodes]: all nodes so. */
static void link_nodes(name_parts *x, int32_t *order)
{
	int32_t n = 1;
	order[0] = 0;
	for (int32_t i = 0; i < n; i++)
		for (int32_t at = order[i], c = x->node[at].child; c; c = x->node[c].sibling) {
			int32_t link = at ? follow(x, x->node[at].link, x->node[c].letter) : 0;
			x->node[c].link = link;
			x->node[c].beside = x->node[link].below;
			x->node[link].below = c;
			order[n++] = c;
		}
}

berth_status name_parts_new(const char *const *name, const int32_t *owner, int32_t n, berth_arena *mem,
                            name_parts *out, berth_err *err)
{
	size_t bytes = 0;
	int32_t *order;
	*out = (name_parts){.n_nodes = 1};
	for (int32_t i = 0; i < n; i++)
		bytes += strlen(name[i]);
	if (bytes >= INT32_MAX)
		return berth_fail(err, BERTH_EUNSUPPORTED, "names of more than 2 GiB");
	BERTH_TRY_NEW(mem, bytes + 1, err, out->node, order);
	for (int32_t i = 0; i < n; i++)
		add_name(out, name[i], owner[i]);
	link_nodes(out, order);
	for (int32_t i = out->n_nodes - 1; i > 0; i--) {
		const name_parts_node *node = &out->node[order[i]];
		own(&out->node[node->link], node->owner);
	}
	return BERTH_OK;
}

size_t name_parts_own(name_parts *x, const char *name, const char *separators)
{
	int32_t at = 0;
	for (size_t n = 1; name[n - 1]; n++) {
		at = child_of(x, at, name[n - 1]);
		if ((!name[n] || strchr(separators, name[n - 1])) && x->node[at].owner != NAME_PARTS_MANY)
			return n;
	}
	return 0;
}

/* Nodes leave the lists of those below when they are met: none is met twice. */
void name_parts_take(name_parts *x, const char *name, size_t size)
{
	int32_t top = 0;
	for (size_t i = 0; i < size; i++)
		top = child_of(x, top, name[i]);
	x->node[top].taken = true;
	for (int32_t at = top; at != top || x->node[at].below; x->n_steps++) {
		int32_t next = x->node[at].below;
		if (!next) {
			at = x->node[at].link;
			continue;
		}
		x->node[at].below = x->node[next].beside;
		if (!x->node[next].taken)
			at = next;
		x->node[next].taken = true;
	}
}

bool name_parts_taken(name_parts *x, const char *name)
{
	int32_t at = 0;
	for (; *name && !x->node[at].taken; name++)
		at = child_of(x, at, *name);
	return x->node[at].taken;
}
