/* Which processor a core belongs to, out of /proc/cpuinfo: the model's name, and the numbers that tell two of
 * one name apart. */
#include "cpu_model.h"

#include "text.h"

/* The text behind "KEY  : ", without the newline. NULL: the line has another key. */
static char *value_of(char *line, const char *key)
{
	size_t n = strlen(key);
	if (strncmp(line, key, n) != 0)
		return NULL;
	char *at = line + n + strspn(line + n, " \t");
	if (*at != ':')
		return NULL;
	at++;
	at += strspn(at, " \t");
	at[strcspn(at, "\n")] = '\0';
	return at;
}

typedef struct words {
	char name[192], numbers[64];
} words;

/* A line of the core's paragraph. */
static void take(char *line, words *w)
{
	static const char *const keys[] = {"cpu family",  "model",    "stepping",     "CPU implementer",
	                                   "CPU variant", "CPU part", "CPU revision", "cpu"};
	const char *text = value_of(line, "model name");
	if (text)
		snprintf(w->name, sizeof w->name, "%s", text);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if ((text = value_of(line, keys[i]))) {
			size_t n = strlen(w->numbers);
			snprintf(w->numbers + n, sizeof w->numbers - n, "%s%s", n ? "/" : "", text);
		}
}

void cpu_model(const char *path, int32_t core, char *name, size_t size)
{
	FILE *f = fopen(path, "r");
	words w = {"", ""};
	char *line = NULL;
	size_t cap = 0;
	bool here = false;
	while (f && getline(&line, &cap, f) > 0) {
		const char *number = value_of(line, "processor");
		if (number)
			here = berth_text_digits(number, INT32_MAX, NULL) == core;
		else if (here)
			take(line, &w);
	}
	free(line);
	if (f)
		fclose(f);
	snprintf(name, size, "%s%s%s", w.name, *w.name && *w.numbers ? " " : "", w.numbers);
}
