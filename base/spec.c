/* Specs: NAME[:key=value...] read by a table of parameters, and written without defaults. Errors name the
 * nearest parameter. */
#include "spec.h"

#include "text.h"
#include "units.h"

/* Copy text up to the first of stop (or the end) into word, cut at BERTH_SPEC_WORD - 1; returns what
 * follows. */
static const char *take_word(const char *text, const char *stop, char word[BERTH_SPEC_WORD])
{
	size_t n = strcspn(text, stop), cut = n < BERTH_SPEC_WORD ? n : BERTH_SPEC_WORD - 1;
	memcpy(word, text, cut);
	word[cut] = '\0';
	return text + n;
}

const char *berth_spec_name(const char *text, char name[BERTH_SPEC_WORD])
{
	return take_word(text, ":", name);
}

static berth_status find_param(const char *spec, const berth_spec_table *t, const char *key, int32_t *out,
                               berth_err *err)
{
	const char *names[BERTH_SPEC_PARAMS];
	char hint[128];
	for (int32_t i = 0; i < t->n; i++) {
		names[i] = t->param[i].name;
		if (strcmp(names[i], key) == 0) {
			*out = i;
			return BERTH_OK;
		}
	}
	return berth_fail(err, BERTH_EINVAL, "%s: %s '%s' has no parameter '%s'%s", spec, t->kind, t->name,
	                  key, berth_text_suggest(hint, sizeof hint, key, names, t->n));
}

static berth_status parse_choice(const char *spec, const berth_spec_param *p, const char *word, double *out,
                                 berth_err *err)
{
	char all[256] = "";
	for (int32_t i = 0; p->choice[i]; i++) {
		if (strcmp(p->choice[i], word) == 0) {
			*out = i;
			return BERTH_OK;
		}
		size_t n = strlen(all);
		snprintf(all + n, sizeof all - n, "%s%s", i ? " or " : "", p->choice[i]);
	}
	return berth_fail(err, BERTH_EINVAL, "%s: %s is '%s'; expected %s", spec, p->name, word, all);
}

static berth_status parse_number(const char *spec, const berth_spec_param *p, const char *word, double *out,
                                 berth_err *err)
{
	char low[32], high[32];
	const char *end;
	double x = berth_unit_number(p->whole ? BERTH_TOKENS : BERTH_PLAIN, word, &end);
	if (!*end && x >= p->min && x <= p->max && (!p->whole || x == floor(x))) {
		*out = x;
		return BERTH_OK;
	}
	return berth_fail(err, BERTH_EINVAL, "%s: %s is '%s'; expected a %snumber from %s to %s", spec,
	                  p->name, word, p->whole ? "whole " : "", berth_text_double(low, p->min),
	                  berth_text_double(high, p->max));
}

berth_status berth_spec_values(const char *spec, const char *rest, const berth_spec_table *t, double value[],
                               berth_err *err)
{
	bool seen[BERTH_SPEC_PARAMS] = {false};
	for (int32_t i = 0; i < t->n; i++)
		value[i] = t->param[i].def;
	while (*rest) {
		char key[BERTH_SPEC_WORD], word[BERTH_SPEC_WORD];
		int32_t i = 0;
		rest = take_word(rest + 1, ":=", key);
		if (*rest != '=')
			return berth_fail(
				err, BERTH_EINVAL,
				"%s: '%s' stands without a value; expected key=value between colons", spec,
				key);
		rest = take_word(rest + 1, ":", word);
		BERTH_TRY(find_param(spec, t, key, &i, err));
		if (seen[i])
			return berth_fail(err, BERTH_EINVAL, "%s: '%s' stands twice", spec, key);
		seen[i] = true;
		BERTH_TRY((t->param[i].choice ? parse_choice : parse_number)(spec, &t->param[i], word,
		                                                             &value[i], err));
	}
	return BERTH_OK;
}

const char *berth_spec_canonical(const berth_spec_table *t, const double value[], berth_arena *mem)
{
	const char *name = t->name;
	for (int32_t i = 0; i < t->n && name; i++) {
		const berth_spec_param *p = &t->param[i];
		char number[32];
		if (value[i] != p->def)
			name = berth_arena_printf(mem, "%s:%s=%s", name, p->name,
			                          p->choice ? p->choice[(int)value[i]]
			                                    : berth_text_double(number, value[i]));
	}
	return name;
}
