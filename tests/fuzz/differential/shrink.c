/* See shrink.h. The three files as trees of JSON; each try changes copies of them. */
#include "shrink.h"

#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct trees {
	cJSON *graph, *system, *plan;
} trees;

typedef struct shrinker {
	const differential_check *check;
	uint64_t seed;
	trees now;
	char why[512];
} shrinker;

static trees copied(const trees *t)
{
	return (trees){cJSON_Duplicate(t->graph, true), cJSON_Duplicate(t->system, true),
	               cJSON_Duplicate(t->plan, true)};
}

static void forget(trees *t)
{
	cJSON_Delete(t->graph);
	cJSON_Delete(t->system);
	cJSON_Delete(t->plan);
}

static bool fails(shrinker *s, const trees *t)
{
	char *g = cJSON_PrintUnformatted(t->graph), *y = cJSON_PrintUnformatted(t->system),
	     *p = cJSON_PrintUnformatted(t->plan);
	differential_case c = {0};
	const char *why = NULL;
	if (g && y && p && differential_open(&c, g, y, p, s->seed))
		why = s->check->run(&c);
	if (why)
		snprintf(s->why, sizeof s->why, "%s", why);
	bool failed = why != NULL;
	differential_close(&c);
	cJSON_free(g);
	cJSON_free(y);
	cJSON_free(p);
	return failed;
}

/* The changed copy takes the place of what there is, where it fails too. */
static bool keep(shrinker *s, trees *t)
{
	if (!fails(s, t)) {
		forget(t);
		return false;
	}
	forget(&s->now);
	s->now = *t;
	return true;
}

static cJSON *list(const cJSON *doc, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(doc, key);
}

static const char *text(const cJSON *item, const char *key)
{
	const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, key));
	return s ? s : "";
}

/* Elements whose member key is name go. */
static void drop_where(cJSON *array, const char *key, const char *name)
{
	for (int i = cJSON_GetArraySize(array) - 1; i >= 0; i--)
		if (strcmp(text(cJSON_GetArrayItem(array, i), key), name) == 0)
			cJSON_DeleteItemFromArray(array, i);
}

/* Strings equal to name go. */
static void drop_text(cJSON *array, const char *name)
{
	for (int i = cJSON_GetArraySize(array) - 1; i >= 0; i--) {
		const char *s = cJSON_GetStringValue(cJSON_GetArrayItem(array, i));
		if (s && strcmp(s, name) == 0)
			cJSON_DeleteItemFromArray(array, i);
	}
}

static bool drop_operator(shrinker *s, int i)
{
	trees t = copied(&s->now);
	cJSON *ops = list(t.graph, "ops"), *param;
	char *name = strdup(text(cJSON_GetArrayItem(ops, i), "name"));
	cJSON_DeleteItemFromArray(ops, i);
	drop_where(list(t.graph, "edges"), "from", name);
	drop_where(list(t.graph, "edges"), "to", name);
	cJSON_ArrayForEach(param, list(t.graph, "params"))
		drop_text(cJSON_GetObjectItemCaseSensitive(param, "ops"), name);
	cJSON_DeleteItemFromObjectCaseSensitive(list(t.plan, "placement"), name);
	drop_text(list(t.plan, "order"), name);
	free(name);
	return keep(s, &t);
}

static bool drop_device(shrinker *s, int i)
{
	trees t = copied(&s->now);
	cJSON *devices = list(t.system, "devices"), *pool, *item;
	char *name = strdup(text(cJSON_GetArrayItem(devices, i), "name"));
	cJSON_DeleteItemFromArray(devices, i);
	const char *first = text(cJSON_GetArrayItem(devices, 0), "name");
	drop_where(list(t.system, "links"), "from", name);
	drop_where(list(t.system, "links"), "to", name);
	cJSON_ArrayForEach(pool, list(t.system, "memory_pools"))
		drop_text(cJSON_GetObjectItemCaseSensitive(pool, "devices"), name);
	cJSON_ArrayForEach(item, list(t.plan, "placement")) if (strcmp(item->valuestring, name) == 0)
		cJSON_SetValuestring(item, first);
	free(name);
	return keep(s, &t);
}

/* Element i of the list, or all of the list. */
static bool drop_element(shrinker *s, int of, const char *key, int i)
{
	trees t = copied(&s->now);
	cJSON *doc = of == 0 ? t.graph : of == 1 ? t.system : t.plan;
	if (i < 0)
		cJSON_DeleteItemFromObjectCaseSensitive(doc, key);
	else
		cJSON_DeleteItemFromArray(list(doc, key), i);
	return keep(s, &t);
}

static bool drop_key(shrinker *s, int of, const char *key, int i, int k)
{
	trees t = copied(&s->now);
	cJSON *item = cJSON_GetArrayItem(list(of ? t.system : t.graph, key), i);
	cJSON *member = item ? cJSON_GetArrayItem(item, k) : NULL;
	if (!member || !member->string || strcmp(member->string, "name") == 0 ||
	    strcmp(member->string, "from") == 0 || strcmp(member->string, "to") == 0) {
		forget(&t);
		return false;
	}
	cJSON_Delete(cJSON_DetachItemViaPointer(item, member));
	return keep(s, &t);
}

static int count(const shrinker *s, int of, const char *key)
{
	return cJSON_GetArraySize(list(of ? s->now.system : s->now.graph, key));
}

/* Once through all that may go; true: something went. */
static bool pass(shrinker *s)
{
	static const struct {
		int of;
		const char *key;
	} lists[] = {{0, "edges"},        {0, "params"}, {1, "links"},
	             {1, "memory_pools"}, {0, "ops"},    {1, "devices"}};
	bool less = false;
	for (int i = count(s, 0, "ops") - 1; i >= 0; i--)
		less |= drop_operator(s, i);
	for (int i = count(s, 1, "devices") - 1; i >= 0; i--)
		less |= drop_device(s, i);
	for (int l = 0; l < 4; l++)
		for (int i = count(s, lists[l].of, lists[l].key) - 1; i >= 0; i--)
			less |= drop_element(s, lists[l].of, lists[l].key, i);
	for (int l = 0; l < 6; l++)
		for (int i = count(s, lists[l].of, lists[l].key) - 1; i >= 0; i--)
			for (int k = 12; k >= 0; k--)
				less |= drop_key(s, lists[l].of, lists[l].key, i, k);
	if (list(s->now.plan, "order"))
		less |= drop_element(s, 2, "order", -1);
	return less;
}

bool shrink(const differential_check *check, uint64_t seed, const char *graph, const char *system,
            const char *placement, shrunk *out)
{
	shrinker s = {.check = check, .seed = seed};
	s.now = (trees){cJSON_Parse(graph), cJSON_Parse(system), cJSON_Parse(placement)};
	bool failed = fails(&s, &s.now);
	for (int i = 0; failed && i < 20 && pass(&s); i++)
		;
	if (failed)
		fails(&s, &s.now);
	*out = (shrunk){cJSON_Print(s.now.graph), cJSON_Print(s.now.system), cJSON_Print(s.now.plan),
	                count(&s, 0, "ops"),      count(&s, 1, "devices"),   ""};
	snprintf(out->why, sizeof out->why, "%s", s.why);
	forget(&s.now);
	return failed;
}

void shrunk_free(shrunk *s)
{
	cJSON_free(s->graph);
	cJSON_free(s->system);
	cJSON_free(s->placement);
}
