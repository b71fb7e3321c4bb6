/* Fuzzing of the check of JSON and of what stays text, against the parser. What the check takes for JSON, the
 * parser reads: else a wrong text would be told as too little memory. Elements come one by one as they stand
 * in the tree. */
#include "fuzz.h"
#include "json.h"
#include "mutate.h"

#include <string.h>

static berth_status compare(void *ctx, const berth_json *item, berth_err *err)
{
	const cJSON **expected = ctx, *e = *expected;
	char *text = cJSON_PrintUnformatted(item->item), *tree = e ? cJSON_PrintUnformatted(e) : NULL;
	(void)err;
	must(text && tree && strcmp(text, tree) == 0 && !item->key == !e->string);
	must(!item->key || strcmp(item->key, e->string) == 0);
	cJSON_free(text);
	cJSON_free(tree);
	*expected = e->next;
	return BERTH_OK;
}

/* The whole of text, from one bracket to the other, is tree. */
static void check_visits(const char *text, size_t size, const cJSON *tree)
{
	cJSON *leaf = berth_json_leave_as_text(text, size);
	const berth_json list = {.item = leaf, .file = "fuzz"};
	const cJSON *expected = tree->child;
	must(leaf && berth_json_each(&list, compare, &expected, NULL) == BERTH_OK && !expected);
	must(berth_json_count(&list) == cJSON_GetArraySize(tree));
	cJSON_Delete(leaf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	cJSON *doc = NULL;
	cJSON_Delete(berth_json_peek(text, size));
	if (berth_json_check("fuzz", text, size, NULL) != BERTH_OK)
		return 0;
	must(berth_json_parse("fuzz", text, size, &doc, NULL) == BERTH_OK);
	while (strchr(" \n\r\t", *text))
		text++, size--;
	while (strchr(" \n\r\t", text[size - 1]))
		size--;
	if (cJSON_IsArray(doc) || cJSON_IsObject(doc))
		check_visits(text, size, doc);
	cJSON_Delete(doc);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const char *const words[] = {"ops", "\\u00e9", "\\ud83d\\ude00", "\\n", "a", NULL};
	return mutate_json(data, size, max_size, seed, words);
}
