/* One question on its way to the engine, by way of the journal where there is one, and members taken out of
 * its answer: what cannot be true is the engine's fault. */
#include "engine_answer.h"

#include "threads.h"

/* ---- asking ---- */

static berth_status ask_engine(engine_answer *a, berth_json_out *w, double limit_s, size_t most,
                               berth_err *err)
{
	double from = berth_wall_seconds();
	berth_status st = berth_engine_ask(a->m->engine, w, limit_s, most, &a->item, err);
	a->took_s = berth_wall_seconds() - from;
	a->at = (berth_json){.item = a->item, .file = "answer"};
	return st;
}

/* Is it what a question can come to? What came from outside is not. */
static bool is_outcome(berth_status st)
{
	return st == BERTH_OK || st == BERTH_EFORMAT || st == BERTH_EINFEASIBLE || st == BERTH_EIO ||
	       st == BERTH_ELIMIT;
}

/* What the journal says was answered: an answer of at most that many bytes, or a failure that was noted. */
static berth_status recall(const char *text, size_t most, engine_answer *a, berth_err *err)
{
	int32_t failed = 0;
	const char *message = "";
	if (strlen(text) > most)
		return berth_fail(err, BERTH_EIO,
		                  "the journal holds an answer of %zu bytes; expected at most %zu",
		                  strlen(text), most);
	BERTH_TRY(berth_json_parse("journal", text, strlen(text), &a->item, err));
	a->at = (berth_json){.item = a->item, .file = "answer"};
	a->took_s = INFINITY; /* its times were believed once */
	if (cJSON_GetObjectItemCaseSensitive(a->item, "ok"))
		return BERTH_OK;
	if (berth_json_int(&a->at, "failed", true, BERTH_EINVAL, BERTH_EUNSUPPORTED, &failed, NULL) !=
	            BERTH_OK ||
	    berth_json_string(&a->at, "message", true, &message, NULL) != BERTH_OK || !*message ||
	    !is_outcome((berth_status)failed))
		return berth_fail(err, BERTH_EIO,
		                  "the journal holds what is neither an answer nor a failure: '%.80s'", text);
	return berth_fail(err, (berth_status)failed, "%s", message);
}

berth_status answer_ask(berth_measured *m, berth_journal *journal, berth_json_out *w, double limit_s,
                        size_t most, berth_arena *tmp, engine_answer *a, berth_err *err)
{
	const char *question, *known;
	*a = (engine_answer){.m = m};
	if (!journal)
		return ask_engine(a, w, limit_s, most, err);
	/* The question without its number. w stays open. */
	berth_json_out copy = *w;
	berth_json_close(&copy, '}');
	BERTH_TRY(berth_json_done(&copy, &question, NULL, err));
	question = strstr(question, "\"do\"");
	if ((known = berth_journal_answer(journal, question)))
		return recall(known, most, a, err);
	a->question = question;
	BERTH_TRY(ask_engine(a, w, limit_s, most, err));
	/* The item as text for the journal, and read from it: numbers as they will be read again, to the
	 * bit. */
	char *text = cJSON_PrintUnformatted(a->item);
	a->text = text ? berth_arena_strdup(tmp, text) : NULL;
	cJSON_free(text);
	cJSON_Delete(a->item);
	a->item = NULL;
	BERTH_TRY(a->text ? berth_json_parse("answer", a->text, strlen(a->text), &a->item, err)
	                  : berth_nomem(err));
	a->at.item = a->item;
	return BERTH_OK;
}

static berth_status note_failure(const engine_answer *a, berth_status st, const berth_err *why,
                                 berth_err *err)
{
	cJSON *item = cJSON_CreateObject();
	bool made = cJSON_AddNumberToObject(item, "failed", st) &&
	            cJSON_AddStringToObject(item, "message", why->msg);
	char *text = made ? cJSON_PrintUnformatted(item) : NULL;
	berth_status noted =
		text ? berth_journal_add(a->m->cfg.journal, a->question, text, err) : berth_nomem(err);
	cJSON_free(text);
	cJSON_Delete(item);
	return noted;
}

berth_status answer_settle(engine_answer *a, berth_status st, const berth_err *why, berth_err *err)
{
	berth_status noted = BERTH_OK;
	a->m->failures += st == BERTH_EIO || st == BERTH_ELIMIT;
	if (a->question && is_outcome(st))
		noted = st == BERTH_OK ? berth_journal_add(a->m->cfg.journal, a->question, a->text, err)
		                       : note_failure(a, st, why, err);
	cJSON_Delete(a->item);
	a->item = NULL;
	a->m->unwritten |= noted != BERTH_OK;
	BERTH_TRY(noted);
	return st == BERTH_OK ? BERTH_OK : berth_fail(err, st, "%s", why->msg);
}

/* ---- reading ---- */

berth_status answer_judge(const engine_answer *a, berth_status st, berth_err *err)
{
	return st == BERTH_EFORMAT && !a->sound
	               ? berth_engine_lied(a->m->engine, err, "gave a bad answer: %s", err->msg)
	               : st;
}

berth_status answer_rows(const berth_json *at, const char *key, int32_t n, berth_arena *tmp, berth_json **row,
                         int32_t *count, berth_err *err)
{
	berth_json *list;
	const cJSON *item;
	int32_t i = 0;
	BERTH_TRY_NEW(tmp, 1, err, list);
	BERTH_TRY(berth_json_array(at, key, true, list, err));
	*count = cJSON_GetArraySize(list->item);
	if (n >= 0 && *count != n)
		return berth_fail(err, BERTH_EFORMAT, "\"%s\" has %d entries; %d were expected", key, *count,
		                  n);
	BERTH_TRY_NEW(tmp, *count, err, *row);
	cJSON_ArrayForEach(item, list->item)
	{
		(*row)[i] = berth_json_at(list, item, i);
		i++;
	}
	return BERTH_OK;
}

berth_status answer_seconds(const engine_answer *a, const berth_json *at, const char *key, int32_t n,
                            bool required, berth_arena *mem, double **out, berth_err *err)
{
	static const double clock_slack = 1.02;
	berth_json list;
	const cJSON *item;
	int32_t i = 0;
	double sum = 0;
	BERTH_TRY_NEW(mem, n, err, *out);
	for (int32_t k = 0; k < n; k++)
		(*out)[k] = NAN;
	if (!required && !cJSON_GetObjectItemCaseSensitive(at->item, key))
		return BERTH_OK;
	BERTH_TRY(berth_json_array(at, key, true, &list, err));
	if (cJSON_GetArraySize(list.item) != n)
		return berth_fail(err, BERTH_EFORMAT, "\"%s\" has %d entries; %d were expected", key,
		                  cJSON_GetArraySize(list.item), n);
	cJSON_ArrayForEach(item, list.item)
	{
		if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || item->valuedouble < 0)
			return berth_fail(err, BERTH_EFORMAT, "a time is no number of seconds >= 0");
		(*out)[i++] = item->valuedouble;
		sum += item->valuedouble;
	}
	if (required && strcmp(berth_engine_says(a->m->engine)->clock, "wall") == 0 &&
	    sum > a->took_s * clock_slack + ANSWER_CLOCK_SLACK_S)
		return berth_fail(err, BERTH_EFORMAT, "its times add up to %g s, but the answer took %g s",
		                  sum, a->took_s);
	return BERTH_OK;
}

berth_status answer_device(const engine_answer *a, const berth_json *at, int32_t *dev, berth_err *err)
{
	int32_t engine_dev = 0;
	BERTH_TRY(berth_json_int(at, "device", true, 0, a->m->n_engine_devs - 1, &engine_dev, err));
	*dev = a->m->engine_sys[engine_dev];
	return *dev >= 0 ? BERTH_OK
	                 : berth_fail(err, BERTH_EFORMAT, "it used a device that the system lacks");
}
