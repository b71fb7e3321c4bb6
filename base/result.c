/* Results as trees in an arena, and how they become JSON. Lack of memory sticks to what could not be made and
 * is told when it is written, so that filling a result needs no check a line. */
#include "result.h"

static const berth_result_kind out_of_memory = {"", "", NULL, 0, false};
static const berth_result nothing = {&out_of_memory, NULL};

static const berth_result_value *copy_values(berth_arena *mem, const berth_result_kind *kind,
                                             const berth_result_value *value)
{
	berth_result_value *kept;
	if (BERTH_NEW(mem, kept, kind->n_keys, NULL) != BERTH_OK)
		return NULL;
	memcpy(kept, value, (size_t)kind->n_keys * sizeof *kept);
	return kept;
}

const berth_result *berth_result_new(berth_arena *mem, const berth_result_kind *kind,
                                     const berth_result_value *value)
{
	berth_result *r;
	const berth_result_value *kept = copy_values(mem, kind, value);
	if (!kept || BERTH_NEW(mem, r, 1, NULL) != BERTH_OK)
		return &nothing;
	*r = (berth_result){kind, kept};
	return r;
}

berth_result_list *berth_result_list_new(berth_arena *mem, const berth_result_kind *kind)
{
	static const berth_result_list none = {.failed = true};
	berth_result_list *list;
	if (BERTH_NEW(mem, list, 1, NULL) != BERTH_OK)
		return (berth_result_list *)&none; /* it is only read */
	*list = (berth_result_list){.mem = mem, .kind = kind};
	return list;
}

void berth_result_add(berth_result_list *list, const berth_result_value *value)
{
	if (list->failed)
		return;
	const berth_result_value *kept = copy_values(list->mem, list->kind, value);
	if (!kept || BERTH_GROW(list->mem, list->item, list->n, &list->cap, NULL) != BERTH_OK) {
		list->failed = true;
		return;
	}
	list->item[list->n++] = (berth_result){list->kind, kept};
}

berth_result_map *berth_result_map_new(berth_arena *mem)
{
	static const berth_result_map none = {.failed = true};
	berth_result_map *map;
	if (BERTH_NEW(mem, map, 1, NULL) != BERTH_OK)
		return (berth_result_map *)&none; /* it is only read */
	*map = (berth_result_map){.mem = mem};
	return map;
}

void berth_result_map_add(berth_result_map *map, const char *name, berth_result_value value)
{
	size_t cap = map->cap;
	if (map->failed)
		return;
	map->failed = BERTH_GROW(map->mem, map->name, map->n, &cap, NULL) != BERTH_OK ||
	              BERTH_GROW(map->mem, map->value, map->n, &map->cap, NULL) != BERTH_OK;
	if (map->failed)
		return;
	map->name[map->n] = name;
	map->value[map->n++] = value;
}

berth_result_value berth_result_get(const berth_result *r, const char *path, const berth_result_key **key)
{
	size_t n = strcspn(path, ".");
	for (int32_t i = 0; r && i < r->kind->n_keys; i++) {
		const berth_result_key *k = &r->kind->key[i];
		berth_result_value v = r->value[i];
		if (v.type == BERTH_RESULT_ALL_OF) {
			v = berth_result_get(v.is.object, path, key);
			if (v.type != BERTH_RESULT_NONE)
				return v;
			continue;
		}
		if (strncmp(k->key, path, n) != 0 || k->key[n])
			continue;
		if (path[n])
			return berth_result_get(v.type == BERTH_RESULT_OBJECT ? v.is.object : NULL,
			                        path + n + 1, key);
		if (key)
			*key = k;
		return v;
	}
	return berth_result_none();
}

static bool value_failed(berth_result_value v);

static bool list_failed(const berth_result_list *list)
{
	bool failed = list->failed;
	for (int32_t i = 0; i < list->n && !failed; i++)
		failed = berth_result_failed(&list->item[i]);
	return failed;
}

static bool map_failed(const berth_result_map *map)
{
	bool failed = map->failed;
	for (int32_t i = 0; i < map->n && !failed; i++)
		failed = value_failed(map->value[i]);
	return failed;
}

static bool value_failed(berth_result_value v)
{
	switch (v.type) {
	case BERTH_RESULT_OBJECT:
	case BERTH_RESULT_ALL_OF: return v.is.object && berth_result_failed(v.is.object);
	case BERTH_RESULT_LIST: return list_failed(v.is.list);
	case BERTH_RESULT_MAP: return map_failed(v.is.map);
	default: return false;
	}
}

bool berth_result_failed(const berth_result *r)
{
	bool failed = r == &nothing;
	for (int32_t i = 0; i < r->kind->n_keys && !failed; i++)
		failed = value_failed(r->value[i]);
	return failed;
}

static void put_object(berth_json_out *w, const char *key, const berth_result *r)
{
	if (!r) {
		berth_json_put_null(w, key);
		return;
	}
	berth_json_open(w, key, '{');
	if (r->kind->flat)
		berth_json_flat(w, true);
	berth_result_put_members(w, r);
	berth_json_close(w, '}');
	if (r->kind->flat)
		berth_json_flat(w, false);
}

static void put_list(berth_json_out *w, const char *key, const berth_result_list *list)
{
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < list->n; i++)
		put_object(w, NULL, &list->item[i]);
	berth_json_close(w, ']');
	w->failed |= list->failed;
}

static void put_map(berth_json_out *w, const char *key, const berth_result_map *map)
{
	berth_json_open(w, key, '{');
	for (int32_t i = 0; i < map->n; i++)
		berth_result_put(w, map->name[i], map->value[i]);
	berth_json_close(w, '}');
	w->failed |= map->failed;
}

static void put_texts(berth_json_out *w, const char *key, const berth_result_value *v)
{
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < v->n; i++)
		berth_json_put_string(w, NULL, v->is.texts[i]);
	berth_json_close(w, ']');
}

void berth_result_put(berth_json_out *w, const char *key, berth_result_value v)
{
	switch (v.type) {
	case BERTH_RESULT_NONE: break;
	case BERTH_RESULT_TEXT: berth_json_put_string(w, key, v.is.text); break;
	case BERTH_RESULT_NUMBER: berth_json_put_number(w, key, v.is.number); break;
	case BERTH_RESULT_NS: berth_json_put_ns(w, key, v.is.integer); break;
	case BERTH_RESULT_INT: berth_json_put_int(w, key, v.is.integer); break;
	case BERTH_RESULT_BOOL: berth_json_put_bool(w, key, v.is.integer); break;
	case BERTH_RESULT_TEXTS: put_texts(w, key, &v); break;
	case BERTH_RESULT_NUMBERS: berth_json_put_numbers(w, key, v.is.numbers, v.n); break;
	case BERTH_RESULT_OBJECT: put_object(w, key, v.is.object); break;
	case BERTH_RESULT_LIST: put_list(w, key, v.is.list); break;
	case BERTH_RESULT_MAP: put_map(w, key, v.is.map); break;
	case BERTH_RESULT_ALL_OF: berth_result_put_members(w, v.is.object); break;
	}
}

void berth_result_put_members(berth_json_out *w, const berth_result *r)
{
	w->failed |= r == &nothing;
	for (int32_t i = 0; i < r->kind->n_keys; i++)
		berth_result_put(w, r->kind->key[i].key, r->value[i]);
}
