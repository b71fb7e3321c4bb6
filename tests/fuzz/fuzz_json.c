/* Fuzzing of the check of JSON against the parser: what the check takes for JSON, the parser reads. Else a
 * wrong text would be told as too little memory. */
#include "json.h"
#include "json_check.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	cJSON *doc = NULL;
	if (memchr(text, '\0', size) || !berth_text_is_utf8(text, size) || !berth_json_is(text, size))
		return 0;
	if (berth_json_parse("fuzz", text, size, &doc, NULL) != BERTH_OK)
		abort();
	cJSON_Delete(doc);
	return 0;
}
