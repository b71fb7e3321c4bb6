/* Text helpers. Levenshtein distance by the usual two-row dynamic program; hashing by FNV-1a (order of a map
 * is never visible). */
#include "text.h"

#include <stdarg.h>

enum { WORD_MAX = 63 };

int berth_text_distance(const char *a, const char *b)
{
	int row[WORD_MAX + 1];
	int n = (int)strnlen(a, WORD_MAX), m = (int)strnlen(b, WORD_MAX);
	for (int j = 0; j <= m; j++)
		row[j] = j;
	for (int i = 1; i <= n; i++) {
		int diagonal = row[0];
		row[0] = i;
		for (int j = 1; j <= m; j++) {
			int best = diagonal + (a[i - 1] != b[j - 1]);
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[m];
}

enum { LEAST_BEGINNING = 3 }; /* letters of a word that a name may begin with */
enum { LEAST_PART = 4 };      /* and that may stand anywhere in one */
enum { MOST_NEAR = 3 };       /* names that are suggested */
enum { MOST_EDITS = 3 };      /* that a word may be away from a name, of a long word, too */

static char small_letter(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The letters and digits of a name, small ones. */
static void plain_letters(const char *name, char out[WORD_MAX + 1])
{
	size_t n = 0;
	for (; *name && n < WORD_MAX; name++)
		if (!strchr("-_. ", *name))
			out[n++] = small_letter(*name);
	out[n] = '\0';
}

/* Do other programs call that by this word, which has another name here? */
static bool is_called(const char *name, const char *plain)
{
	static const char *const names[][2] = {{"ctx", "context"},      {"nctx", "context"},
	                                       {"ctx", "seq"},          {"nctx", "seq"},
	                                       {"context", "seq"},
	                                       {"seqlen", "seq"},       {"batchsize", "batch"},
	                                       {"makespan", "latency"}, {"time", "latency"},
	                                       {"speed", "throughput"}, {"onnxruntime", "ort"},
	                                       {"vram", "memory_bytes"}, {"ram", "memory_bytes"},
	                                       {"pytorch", "torch"},      {"tables", "csv"},
	                                       {"table", "csv"}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i][0], plain) == 0 && strcmp(names[i][1], name) == 0)
			return true;
	return false;
}

/* The name that word is in other letters' case, by another program's word, or a part of (four letters on). */
static const char *same_otherwise(const char *word, const char *const *list, int32_t n)
{
	char plain[WORD_MAX + 1], name[WORD_MAX + 1];
	plain_letters(word, plain);
	for (int part = 0; part < 2 && *plain; part++)
		for (int32_t i = 0; i < n && strlen(plain) >= (part ? LEAST_PART : 1); i++) {
			plain_letters(list[i], name);
			if (part ? strstr(name, plain) != NULL
			         : strcmp(name, plain) == 0 || is_called(list[i], plain))
				return list[i];
		}
	return NULL;
}

const char *berth_text_nearest(const char *word, const char *const *list, int32_t n)
{
	const char *best = NULL;
	int half = (int)strnlen(word, WORD_MAX) / 2, limit = (half < MOST_EDITS ? half : MOST_EDITS) + 1;
	for (int32_t i = 0; i < n && strlen(word) >= LEAST_BEGINNING; i++)
		if (strncmp(list[i], word, strlen(word)) == 0)
			return list[i];
	for (int32_t i = 0; i < n; i++) {
		int d = berth_text_distance(word, list[i]);
		if (d < limit) {
			limit = d;
			best = list[i];
		}
	}
	const char *same = limit > 1 ? same_otherwise(word, list, n) : NULL;
	return same ? same : best;
}

char *berth_text_suggest(char *buf, size_t size, const char *word, const char *const *list, int32_t n)
{
	const char *near = berth_text_nearest(word, list, n);
	buf[0] = '\0';
	if (!near)
		return buf;
	const bool begins = strncmp(near, word, strlen(word)) == 0;
	const int distance = berth_text_distance(word, near);
	size_t len = (size_t)snprintf(buf, size, " (did you mean '%s'", near);
	for (int32_t i = 0, told = 1; i < n && told < MOST_NEAR; i++) {
		bool as_near = begins ? strncmp(list[i], word, strlen(word)) == 0
		                      : strncmp(list[i], word, LEAST_PART) == 0 &&
		                                berth_text_distance(word, list[i]) == distance;
		if (!as_near || strcmp(list[i], near) == 0 || len + strlen(list[i]) + sizeof ", ''?)" > size)
			continue;
		len += (size_t)snprintf(buf + len, size - len, ", '%s'", list[i]);
		told++;
	}
	snprintf(len < size ? buf + len : buf, len < size ? size - len : 0, "?)");
	return buf;
}

berth_status berth_text_find(const char *const *names, int32_t n, const char *word, const char *what,
                             const char *tail, int32_t *at, berth_err *err)
{
	char hint[96], known[512] = "";
	size_t len = 0;
	for (int32_t i = 0; i < n; i++)
		if (strcmp(names[i], word) == 0) {
			*at = i;
			return BERTH_OK;
		}
	for (int32_t i = 0; !tail && i < n && len < sizeof known; i++)
		len += (size_t)snprintf(known + len, sizeof known - len, "%s%s",
		                        i ? ", " : "; known: ", names[i]);
	return berth_fail(err, BERTH_EINVAL, "unknown %s '%.60s'%s%s", what, word,
	                  berth_text_suggest(hint, sizeof hint, word, names, n), tail ? tail : known);
}

bool berth_text_is(const char *data, size_t size)
{
	for (size_t i = 0; i < size && i < 256; i++) {
		unsigned char c = (unsigned char)data[i];
		if (c < ' ' && c != '\n' && c != '\r' && c != '\t')
			return false;
	}
	return true;
}

const char *berth_text_search(const char *text, size_t size, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = text, *end = text + size;
	     size >= n && (at = memchr(at, word[0], (size_t)(end - at))) && (size_t)(end - at) >= n; at++)
		if (memcmp(at, word, n) == 0)
			return at;
	return NULL;
}

bool berth_text_contains(const char *text, size_t size, const char *word)
{
	return berth_text_search(text, size, word) != NULL;
}

bool berth_text_is_utf8(const char *text, size_t n)
{
	uint32_t code;
	uint64_t eight;
	for (int len; n; text += len, n -= (size_t)len) {
		if (n >= sizeof eight) {
			memcpy(&eight, text, sizeof eight);
			len = sizeof eight;
			if (!(eight & UINT64_C(0x8080808080808080))) /* ASCII */
				continue;
		}
		if ((len = berth_text_utf8(text, n, &code)) == 0)
			return false;
	}
	return true;
}

typedef struct berth_strmap_slot {
	const char *key; /* NULL: free */
	int32_t value;
} strmap_slot;

void berth_strmap_init(berth_strmap *m, berth_arena *mem)
{
	*m = (berth_strmap){mem, NULL, 0, 0};
}

berth_status berth_strmap_reserve(berth_strmap *m, size_t n, berth_err *err)
{
	size_t cap = 64;
	if (m->cap)
		return BERTH_OK;
	while (cap * 3 <= n * 4)
		cap *= 2;
	BERTH_TRY_NEW(m->mem, cap, err, m->slot);
	m->cap = cap;
	return BERTH_OK;
}

static uint64_t hash(const char *s)
{
	uint64_t h = 14695981039346656037u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h ^ (h >> 29);
}

static strmap_slot *find(strmap_slot *slot, size_t cap, const char *key)
{
	size_t i = (size_t)hash(key) & (cap - 1);
	while (slot[i].key && strcmp(slot[i].key, key) != 0)
		i = (i + 1) & (cap - 1);
	return &slot[i];
}

int32_t berth_strmap_get(const berth_strmap *m, const char *key)
{
	if (!m->cap)
		return -1;
	const strmap_slot *s = find(m->slot, m->cap, key);
	return s->key ? s->value : -1;
}

berth_status berth_strmap_add(berth_strmap *m, const char *key, int32_t value, int32_t *found, berth_err *err)
{
	if (m->len * 4 >= m->cap * 3) {
		size_t cap = m->cap ? m->cap * 2 : 64;
		strmap_slot *slot;
		BERTH_TRY_NEW(m->mem, cap, err, slot);
		for (size_t i = 0; i < m->cap; i++)
			if (m->slot[i].key)
				*find(slot, cap, m->slot[i].key) = m->slot[i];
		m->slot = slot;
		m->cap = cap;
	}
	strmap_slot *s = find(m->slot, m->cap, key);
	if (!s->key) {
		*s = (strmap_slot){key, value};
		m->len++;
	}
	if (found)
		*found = s->value;
	return BERTH_OK;
}

static size_t n_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* Bytes of the number that text begins with. */
static size_t number_length(const char *text)
{
	size_t n = *text == '-' || *text == '+', whole = n_digits(text + n), part = 0;
	n += whole;
	if (text[n] == '.')
		n += 1 + (part = n_digits(text + n + 1));
	if (!whole && !part)
		return 0;
	if (text[n] == 'e' || text[n] == 'E') {
		size_t sign = text[n + 1] == '-' || text[n + 1] == '+', power = n_digits(text + n + 1 + sign);
		n += power ? 1 + sign + power : 0;
	}
	return n;
}

double berth_text_number(const char *text, const char **end)
{
	enum { LONGEST = 400 };
	char copy[LONGEST];
	size_t n = number_length(text);
	*end = text;
	if (!n || n >= sizeof copy)
		return NAN;
	memcpy(copy, text, n); /* strtod would take the x of 0x10 for more of it */
	copy[n] = '\0';
	*end = text + n;
	return strtod(copy, NULL);
}

bool berth_text_whole(const char *text, size_t n, uint64_t most, uint64_t *out)
{
	uint64_t x = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';
		if (digit > 9 || x > most / 10 || 10 * x > most - digit || digit > most)
			return false;
		x = 10 * x + digit;
	}
	if (n > 0)
		*out = x;
	return n > 0;
}

int32_t berth_text_digits(const char *text, int32_t most, const char **end)
{
	uint64_t x;
	size_t n = strspn(text, "0123456789");
	if (end)
		*end = text + n;
	return berth_text_whole(text, n, (uint64_t)most, &x) ? (int32_t)x : -1;
}

bool berth_text_part(const char *text, size_t n, int32_t *part, int32_t *of)
{
	const char *at = text + n - (n < BERTH_TEXT_PART ? n : BERTH_TEXT_PART);
	uint64_t i, k;
	if (n < BERTH_TEXT_PART || at[0] != '-' || memcmp(at + 6, "-of-", 4) != 0 ||
	    !berth_text_whole(at + 1, 5, 99999, &i) || !berth_text_whole(at + 10, 5, 99999, &k) || i < 1 ||
	    i > k)
		return false;
	*part = (int32_t)i;
	*of = (int32_t)k;
	return true;
}

char *berth_text_double(char buf[32], double x)
{
	if (fabs(x) <= 0x1p53 && x == floor(x)) {
		snprintf(buf, 32, "%.0f", x == 0 ? 0.0 : x);
		return buf;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(buf, 32, "%.*g", digits, x);
		if (strtod(buf, NULL) == x)
			break;
	}
	return buf;
}

static char *scaled(char buf[32], double x, double step, const char *const *unit, int n_units)
{
	int u = 0;
	while (u + 1 < n_units && fabs(x) >= step * 0.9995) {
		x /= step;
		u++;
	}
	bool whole = u == 0 && fabs(x - round(x)) < 1e-6; /* bytes, nanoseconds */
	int decimals = whole || fabs(x) >= 99.95 ? 0 : fabs(x) >= 9.995 ? 1 : 2;
	snprintf(buf, 32, "%.*f%s%s", decimals, x, unit[u][0] ? " " : "", unit[u]);
	return buf;
}

/* As scaled, five digits of it, never above x but for what a double loses. */
static char *scaled_down(char buf[32], double x, double step, const char *const *unit, int n_units)
{
	int u = 0;
	while (u + 1 < n_units && fabs(x) >= step) {
		x /= step;
		u++;
	}
	double digit = x != 0 && isfinite(x) ? pow(10, 4 - floor(log10(fabs(x)))) : 1;
	if (digit > 1 && isfinite(x))
		x = floor(x * digit * (1 + 1e-12)) / digit;
	snprintf(buf, 32, "%.10g%s%s", digit > 1 ? x : floor(x), unit[u][0] ? " " : "", unit[u]);
	return buf;
}

char *berth_text_down(char buf[32], double x, const char *unit)
{
	static const char *const seconds[] = {"ns", "us", "ms", "s"};
	static const char *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	if (strcmp(unit, "s") == 0)
		return scaled_down(buf, x * 1e9, 1000, seconds, 4);
	if (strcmp(unit, "B") == 0)
		return scaled_down(buf, x, 1024, bytes, 5);
	return scaled_down(buf, x, 1, &unit, 1);
}

char *berth_text_seconds(char buf[32], double seconds)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	return scaled(buf, seconds * 1e9, 1000, unit, 4);
}

char *berth_text_bytes(char buf[32], double bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	return scaled(buf, bytes, 1024, unit, 5);
}

char *berth_text_bytes_exact(char buf[64], int64_t bytes)
{
	char about[32];
	if (bytes < 1024 && bytes > -1024)
		snprintf(buf, 64, "%lld bytes", (long long)bytes);
	else
		snprintf(buf, 64, "%s (%lld bytes)", berth_text_bytes(about, (double)bytes),
		         (long long)bytes);
	return buf;
}

char *berth_text_count(char buf[32], double count)
{
	static const char *const unit[] = {"", "K", "M", "G", "T", "P"};
	return scaled(buf, count, 1000, unit, 6);
}

/* ---- a text that grows ---- */

/* Room for n bytes and a closing 0: twice what there was, or just what is needed where that is more. */
static bool reserve(berth_strbuf *b, size_t n)
{
	size_t needed = b->len + n + 1, twice = b->cap ? 2 * b->cap : 256;
	size_t cap = needed > twice ? needed : twice;
	if (b->failed)
		return false;
	if (needed <= b->cap)
		return true;
	char *text = berth_arena_alloc(b->mem, cap, 1);
	if (!text) {
		b->failed = true;
		return false;
	}
	if (b->len)
		memcpy(text, b->text, b->len);
	b->text = text;
	b->cap = cap;
	return true;
}

void berth_strbuf_add(berth_strbuf *b, const void *text, size_t n)
{
	if (!reserve(b, n))
		return;
	if (n) /* nothing may be told as NULL */
		memcpy(b->text + b->len, text, n);
	b->len += n;
	b->text[b->len] = '\0';
}

void berth_strbuf_printf(berth_strbuf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(b, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->text + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

berth_status berth_strbuf_done(berth_strbuf *b, const char **text, size_t *len, berth_err *err)
{
	berth_strbuf_add(b, "", 0);
	if (b->failed)
		return berth_nomem(err);
	*text = b->text;
	if (len)
		*len = b->len;
	return BERTH_OK;
}
