/* Which beginnings of names are parts of other names: a trie of all names with the links of Aho and Corasick
 * (CACM 18, 1975). The link of a beginning is its longest end that is a beginning, too; so a beginning is a
 * part of just those names whose way down the trie meets the tree of links below it. */
#pragma once

#include "arena.h"

typedef struct name_parts_node {
	char letter;
	bool taken;             /* a beginning that was taken is its end */
	int32_t owner;          /* of all names that it is a part of; NAME_PARTS_MANY: they have several */
	int32_t child, sibling; /* in the trie; 0: none */
	int32_t link;           /* 0: the empty beginning */
	int32_t below, beside;  /* nodes whose link this is, and the next of them; 0: none */
} name_parts_node;

enum { NAME_PARTS_MANY = -2 };

typedef struct name_parts {
	name_parts_node *node; /* [n_nodes] distinct beginnings, the empty one first */
	int32_t n_nodes;
	int64_t n_steps; /* that all calls took: nodes looked at */
} name_parts;

/* Of name [n], each of an owner >= 0. All lives in mem. Fails: BERTH_ENOMEM, BERTH_EUNSUPPORTED (beyond 2^31
 * bytes of names). O(bytes of the names), each times the letters that follow a beginning. */
berth_status name_parts_new(const char *const *name, const int32_t *owner, int32_t n, berth_arena *mem,
                            name_parts *out, berth_err *err);

/* Bytes of the shortest beginning of one of the names that ends behind one of the separators, or with the
 * name, and is no part of a name of another owner; 0: there is none. O(bytes of the name). */
size_t name_parts_own(name_parts *x, const char *name, const char *separators);

/* Take the first size bytes of one of the names. All calls together O(nodes + sizes). */
void name_parts_take(name_parts *x, const char *name, size_t size);

/* Is a beginning that was taken a part of this one of the names? O(bytes of the name). */
bool name_parts_taken(name_parts *x, const char *name);
