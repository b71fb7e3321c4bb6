/* See import_maps.h. */
#include "import_maps.h"

#include "json.h"

#include <stdio.h>
#include <string.h>

static berth_status look_at(void *ctx, const berth_json *at, berth_err *err)
{
	import_map_kind *kind = ctx;
	const cJSON *x = at->item;
	if (cJSON_IsNumber(x) || (cJSON_IsString(x) && *x->valuestring >= 'a' && *x->valuestring <= 'z'))
		*kind = IMPORT_TORCH_MAP;
	else if (cJSON_IsString(x) && *kind == IMPORT_NO_MAP)
		*kind = IMPORT_OTHER_MAP;
	else if (!cJSON_IsString(x)) {
		*kind = IMPORT_NO_MAP;
		return berth_fail(err, BERTH_EFORMAT, "no map");
	}
	return BERTH_OK;
}

berth_status import_map_look(const char *text, size_t size, import_map_kind *kind, berth_err *err)
{
	*kind = IMPORT_NO_MAP;
	if (berth_import_first(text, size) != '{')
		return BERTH_OK;
	cJSON *doc = NULL;
	berth_status st = berth_json_check("", text, size, err);
	if (st == BERTH_OK)
		st = (doc = berth_json_peek(text, size)) ? BERTH_OK : berth_nomem(err);
	const berth_json all = {.item = doc, .file = ""};
	if (st == BERTH_OK)
		st = berth_json_each(&all, look_at, kind, err);
	if (st != BERTH_OK)
		*kind = IMPORT_NO_MAP;
	cJSON_Delete(doc);
	return st == BERTH_ENOMEM ? st : BERTH_OK;
}

typedef struct reading {
	berth_import *m;
	import_map_visit *visit;
	void *ctx;
} reading;

static berth_status read_member(void *ctx, const berth_json *at, berth_err *err)
{
	reading *r = ctx;
	char number[16];
	const char *word = number;
	int32_t w;
	if (cJSON_IsNumber(at->item)) {
		double x = at->item->valuedouble;
		if (!(x >= 0 && x < 1000) || x != (int)x)
			return berth_json_fail(at, err, "expected the number of a device, from 0 to 999");
		snprintf(number, sizeof number, "%d", (int)x);
	} else if (cJSON_IsString(at->item)) {
		word = at->item->valuestring;
	} else {
		return berth_json_fail(at, err, "expected the name or the number of a device");
	}
	BERTH_TRY(berth_import_word(r->m, word, &w, err));
	return r->visit(r->ctx, at->key, w, err);
}

berth_status import_map_each(berth_import *m, import_map_visit *visit, void *ctx, berth_err *err)
{
	reading r = {m, visit, ctx};
	cJSON *doc;
	BERTH_TRY(berth_json_parse_large(m->x->file, m->x->text, m->x->size, &doc, err));
	const berth_json all = {.item = doc, .file = m->x->file};
	berth_status st = cJSON_IsObject(doc)
	                          ? berth_json_each(&all, read_member, &r, err)
	                          : berth_json_fail(&all, err, "expected an object of names and devices");
	cJSON_Delete(doc);
	return st;
}
