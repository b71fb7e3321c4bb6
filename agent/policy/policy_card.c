/* The card of a policy as JSON text: from what the policy was made, what that cost, and what came of it. */
#include "policy_file.h"

enum { WORDS = 4000, DIGEST = 64 };

/* Seconds and values: larger ones are forged. */
#define MOST 1e100

berth_policy_card berth_policy_card_blank(void)
{
	return (berth_policy_card){.pairs = -1, .evaluations = -1, .looks = -1, .taken = -1, .cpu_s = NAN};
}

/* ---- writing ---- */

static void put_name(berth_json_out *w, const char *key, const char *name)
{
	char cut[BERTH_CARD_NAME + 1];
	size_t n = strlen(name);
	if (n > BERTH_CARD_NAME)
		for (n = BERTH_CARD_NAME; n && ((unsigned char)name[n] & 0xc0) == 0x80; n--)
			; /* not amid a character */
	memcpy(cut, name, n);
	cut[n] = 0;
	berth_json_put_string(w, key, cut);
}

static void put_count(berth_json_out *w, const char *key, int64_t x)
{
	if (x >= 0)
		berth_json_put_int(w, key, x);
}

static void put_words(berth_json_out *w, const char *key, const char *text)
{
	if (text)
		berth_json_put_string(w, key, text);
}

void berth_policy_card_put(berth_json_out *w, const char *key, const berth_policy_card *card)
{
	berth_json_open(w, key, '{');
	put_words(w, "data", card->data);
	put_words(w, "from", card->from);
	put_count(w, "pairs", card->pairs);
	put_count(w, "evaluations", card->evaluations);
	if (!isnan(card->cpu_s))
		berth_json_put_number(w, "cpu_s", card->cpu_s);
	put_count(w, "looks", card->looks);
	put_count(w, "taken", card->taken);
	if (card->n_kept)
		berth_json_open(w, "kept", '[');
	for (int32_t i = 0; i < card->n_kept && i < BERTH_CARD_PAIRS; i++) {
		berth_json_open(w, NULL, '{');
		put_name(w, "graph", card->kept[i].graph);
		put_name(w, "system", card->kept[i].system);
		berth_json_put_number(w, "before", card->kept[i].before);
		berth_json_put_number(w, "after", card->kept[i].after);
		berth_json_close(w, '}');
	}
	if (card->n_kept)
		berth_json_close(w, ']');
	put_words(w, "result", card->result);
	berth_json_close(w, '}');
}

/* ---- reading ---- */

/* A text of at most so many bytes, into mem. */
static berth_status get_words(const berth_json *at, const char *key, size_t most, berth_arena *mem,
                              const char **out, berth_err *err)
{
	const char *text = NULL;
	berth_json x = berth_json_get(at, key);
	BERTH_TRY(berth_json_string(at, key, false, &text, err));
	if (text && strlen(text) > most)
		return berth_json_fail(&x, err, "a text of %zu bytes; expected at most %zu", strlen(text),
		                       most);
	if (text && !(*out = berth_arena_strdup(mem, text)))
		return berth_nomem(err);
	return BERTH_OK;
}

/* A number from 0 to MOST. */
static berth_status get_number(const berth_json *at, const char *key, bool required, double *out,
                               berth_err *err)
{
	double x = NAN;
	BERTH_TRY(berth_json_number(at, key, required, 0, &x, err));
	if (x > MOST) {
		berth_json v = berth_json_get(at, key);
		return berth_json_fail(&v, err, "%.17g is too large; expected at most %g", x, MOST);
	}
	if (!isnan(x))
		*out = x;
	return BERTH_OK;
}

/* A whole number of what was counted. */
static berth_status get_count(const berth_json *at, const char *key, int64_t *out, berth_err *err)
{
	double x = NAN;
	BERTH_TRY(berth_json_number(at, key, false, 0, &x, err));
	if (isnan(x))
		return BERTH_OK;
	if (x != floor(x) || x > 0x1p53) {
		berth_json v = berth_json_get(at, key);
		return berth_json_fail(&v, err, "%.17g is not a whole number up to 2^53", x);
	}
	*out = (int64_t)x;
	return BERTH_OK;
}

/* A SHA-256. */
static berth_status get_digest(const berth_json *at, const char *key, berth_arena *mem, const char **out,
                               berth_err *err)
{
	BERTH_TRY(get_words(at, key, DIGEST, mem, out, err));
	berth_json v = berth_json_get(at, key);
	if (*out && (strlen(*out) != DIGEST || strspn(*out, "0123456789abcdef") != DIGEST))
		return berth_json_fail(&v, err, "'%s'; expected 64 hexadecimal digits", *out);
	return BERTH_OK;
}

/* A value of 0 to MOST, or null: NAN. */
static berth_status get_value(const berth_json *at, const char *key, double *out, berth_err *err)
{
	*out = NAN;
	return cJSON_IsNull(berth_json_get(at, key).item) ? BERTH_OK
	                                                  : get_number(at, key, true, out, err);
}

static berth_status get_pair(const berth_json *at, berth_arena *mem, berth_card_pair *out, berth_err *err)
{
	static const char *const known[] = {"graph", "system", "before", "after", NULL};
	*out = (berth_card_pair){"", "", NAN, NAN};
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(get_words(at, "graph", BERTH_CARD_NAME, mem, &out->graph, err));
	BERTH_TRY(get_words(at, "system", BERTH_CARD_NAME, mem, &out->system, err));
	BERTH_TRY(get_value(at, "before", &out->before, err));
	return get_value(at, "after", &out->after, err);
}

static berth_status get_kept(const berth_json *card, berth_arena *mem, berth_policy_card *out, berth_err *err)
{
	berth_json list;
	berth_card_pair *pair;
	BERTH_TRY(berth_json_array(card, "kept", false, &list, err));
	int32_t n = list.item ? cJSON_GetArraySize(list.item) : 0, i = 0;
	if (n > BERTH_CARD_PAIRS)
		return berth_json_fail(&list, err, "%d pairs; expected at most %d", (int)n, BERTH_CARD_PAIRS);
	BERTH_TRY_NEW(mem, n, err, pair);
	const cJSON *item = list.item ? list.item->child : NULL;
	for (; item; item = item->next, i++) {
		berth_json at = berth_json_at(&list, item, i);
		BERTH_TRY(get_pair(&at, mem, &pair[i], err));
	}
	out->n_kept = n;
	out->kept = pair;
	return BERTH_OK;
}

static berth_status get_card(const berth_json *at, berth_arena *mem, berth_policy_card *out, berth_err *err)
{
	static const char *const known[] = {"data", "from",  "pairs", "evaluations", "cpu_s",
	                                    "looks", "taken", "kept",  "result",      NULL};
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(get_words(at, "data", WORDS, mem, &out->data, err));
	BERTH_TRY(get_words(at, "result", WORDS, mem, &out->result, err));
	BERTH_TRY(get_digest(at, "from", mem, &out->from, err));
	BERTH_TRY(get_count(at, "pairs", &out->pairs, err));
	BERTH_TRY(get_count(at, "evaluations", &out->evaluations, err));
	BERTH_TRY(get_count(at, "looks", &out->looks, err));
	BERTH_TRY(get_count(at, "taken", &out->taken, err));
	BERTH_TRY(get_number(at, "cpu_s", false, &out->cpu_s, err));
	if (out->looks >= 0 && out->taken > out->looks) {
		berth_json v = berth_json_get(at, "taken");
		return berth_json_fail(&v, err, "%lld of %lld looks", (long long)out->taken,
		                       (long long)out->looks);
	}
	return get_kept(at, mem, out, err);
}

berth_status berth_policy_card_read(const char *file, const char *text, berth_arena *mem,
                                    berth_policy_card *out, berth_err *err)
{
	berth_policy_card card = berth_policy_card_blank();
	const char *name = berth_arena_printf(mem, "%s: the card", file);
	cJSON *tree;
	size_t n = strlen(text);
	BERTH_TRY(berth_got(name, err));
	if (n > BERTH_CARD_BYTES)
		return berth_fail(err, BERTH_EFORMAT, "%s: %zu bytes; expected at most %d", name, n,
		                  BERTH_CARD_BYTES);
	BERTH_TRY(berth_json_parse(name, text, n, &tree, err));
	berth_json at = {.item = tree, .file = name};
	berth_status st = get_card(&at, mem, &card, err);
	cJSON_Delete(tree);
	if (st == BERTH_OK)
		*out = card;
	return st;
}
