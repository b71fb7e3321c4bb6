/* Changed machines: devices and links added and removed. It is done in the system's JSON document, so that
 * whatever a device has goes with it. */
#include "system_change.h"

#include "engine_rules.h"
#include "system_json.h"

typedef struct changer {
	const char *what; /* the change at hand */
	cJSON *doc;       /* NULL: s is what stands */
	berth_system s;   /* where doc is NULL */
	berth_arena *mem, *tmp;
	berth_err *err;
} changer;

/* The ends of a link as it is written. */
typedef struct ends {
	const char *from, *to;
	bool both_ways;
} ends;

/* ---- names ---- */

static const char *text_of(const cJSON *item, const char *key)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(item, key);
	return cJSON_IsString(m) ? m->valuestring : "";
}

static bool is(const cJSON *item, const char *key, const char *text)
{
	return strcmp(text_of(item, key), text) == 0;
}

static cJSON *list_of(const changer *c, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(c->doc, key);
}

static cJSON *first_of(const changer *c, const char *key)
{
	const cJSON *list = list_of(c, key);
	return list ? list->child : NULL;
}

static cJSON *device_named(const changer *c, const char *name)
{
	for (cJSON *d = first_of(c, "devices"); d; d = d->next)
		if (is(d, "name", name))
			return d;
	return NULL;
}

static bool both_ways(const cJSON *link)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(link, "both_ways"));
}

/* Is there a device between text and what follows it, as in A:B and A->B? */
static bool read_ends(const changer *c, const char *text, ends *out)
{
	for (const cJSON *to, *d = first_of(c, "devices"); d; d = d->next) {
		const char *from = text_of(d, "name");
		size_t n = strlen(from);
		if (strncmp(text, from, n) != 0)
			continue;
		bool arrow = strncmp(text + n, "->", 2) == 0;
		if (!arrow && text[n] != ':')
			continue;
		if ((to = device_named(c, text + n + 1 + arrow)) && to != d) {
			*out = (ends){from, text_of(to, "name"), !arrow};
			return true;
		}
	}
	return false;
}

/* Does the link lead from e.from to e.to? */
static bool leads(const cJSON *link, const ends *e)
{
	return (is(link, "from", e->from) && is(link, "to", e->to)) ||
	       (both_ways(link) && is(link, "from", e->to) && is(link, "to", e->from));
}

static cJSON *link_between(const changer *c, const ends *e)
{
	for (cJSON *l = first_of(c, "links"); l; l = l->next)
		if (leads(l, e))
			return l;
	return NULL;
}

static berth_status fail(const changer *c, const char *about, const char *name)
{
	return berth_fail(c->err, BERTH_EINVAL, "'%.80s': %s '%.60s'", c->what, about, name);
}

/* No device, link or channel is called so: names the nearest device or channel. */
static berth_status fail_name(changer *c, const char *name)
{
	int n_most = cJSON_GetArraySize(list_of(c, "devices")) + cJSON_GetArraySize(list_of(c, "links"));
	const char **known;
	char hint[96];
	int32_t n = 0;
	BERTH_TRY_NEW(c->tmp, n_most, c->err, known);
	for (const cJSON *d = first_of(c, "devices"); d; d = d->next)
		known[n++] = text_of(d, "name");
	for (const cJSON *l = first_of(c, "links"); l; l = l->next)
		if (*text_of(l, "shared"))
			known[n++] = text_of(l, "shared");
	return berth_fail(c->err, BERTH_EINVAL,
	                  "'%.80s': system '%.60s' has no device or link '%.60s'%s; links are called A:B, "
	                  "FROM->TO or by their shared name",
	                  c->what, c->s.name, name, berth_text_suggest(hint, sizeof hint, name, known, n));
}

/* ---- documents ---- */

static berth_status open_doc(changer *c)
{
	const char *text;
	size_t len;
	if (c->doc)
		return BERTH_OK;
	BERTH_TRY(berth_system_write_json(&c->s, false, c->tmp, &text, &len, c->err));
	c->doc = cJSON_ParseWithLength(text, len);
	return c->doc ? BERTH_OK : berth_nomem(c->err);
}

static berth_status close_doc(changer *c)
{
	if (!c->doc)
		return BERTH_OK;
	char *text = cJSON_PrintUnformatted(c->doc);
	BERTH_TRY(berth_got(text, c->err));
	const berth_engine_rules *engine = c->s.engine; /* no file tells it */
	berth_status st = berth_system_parse_json("the changed system", text, strlen(text), c->mem, c->tmp,
	                                          &c->s, c->err);
	if (st == BERTH_OK)
		st = berth_system_for(engine, &c->s, c->err);
	cJSON_free(text);
	cJSON_Delete(c->doc);
	c->doc = NULL;
	return st == BERTH_EFORMAT ? berth_fail_in(c->err, BERTH_EINVAL, "'%.80s': ", c->what) : st;
}

/* Append item to a list of the document, which may have to be made. Takes the item. */
static berth_status append(changer *c, const char *key, cJSON *item)
{
	cJSON *list = list_of(c, key);
	if (!list)
		list = cJSON_AddArrayToObject(c->doc, key);
	if (list && item && cJSON_AddItemToArray(list, item))
		return BERTH_OK;
	cJSON_Delete(item);
	return berth_nomem(c->err);
}

/* cJSON's own replacement loses the key where memory runs out. */
static berth_status put_text(changer *c, cJSON *item, const char *key, const char *text)
{
	cJSON *value = cJSON_CreateString(text);
	cJSON_DeleteItemFromObjectCaseSensitive(item, key);
	if (cJSON_AddItemToObject(item, key, value))
		return BERTH_OK;
	cJSON_Delete(value);
	return berth_nomem(c->err);
}

static berth_status put_number(changer *c, cJSON *item, const char *key, double x)
{
	return cJSON_AddNumberToObject(item, key, x) ? BERTH_OK : berth_nomem(c->err);
}

/* ---- less ---- */

static void drop(cJSON *item, cJSON *list)
{
	cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
}

/* The entry of a device in a memory pool; NULL: it is no member. */
static cJSON *member(const cJSON *pool, const char *device)
{
	cJSON *m = cJSON_GetObjectItemCaseSensitive(pool, "devices")->child;
	while (m && strcmp(m->valuestring, device) != 0)
		m = m->next;
	return m;
}

static void remove_device(changer *c, cJSON *dev)
{
	const char *name = text_of(dev, "name");
	for (cJSON *next, *l = first_of(c, "links"); l; l = next) {
		next = l->next;
		if (is(l, "from", name) || is(l, "to", name))
			drop(l, list_of(c, "links"));
	}
	for (cJSON *next, *p = first_of(c, "memory_pools"); p; p = next) {
		cJSON *members = cJSON_GetObjectItemCaseSensitive(p, "devices"), *m = member(p, name);
		next = p->next;
		if (m)
			drop(m, members);
		if (!members->child)
			drop(p, list_of(c, "memory_pools"));
	}
	drop(dev, list_of(c, "devices"));
}

/* Without the way from e->from to e->to; the way back of the same entry stays. */
static berth_status remove_way(changer *c, const ends *e)
{
	cJSON *l = link_between(c, e), *back;
	if (!l)
		return BERTH_OK;
	if (both_ways(l)) {
		back = cJSON_Duplicate(l, true);
		cJSON_DeleteItemFromObjectCaseSensitive(back, "both_ways");
		BERTH_TRY(append(c, "links", back));
		BERTH_TRY(put_text(c, back, "from", e->to));
		BERTH_TRY(put_text(c, back, "to", e->from));
	}
	drop(l, list_of(c, "links"));
	return BERTH_OK;
}

static berth_status take_away(changer *c, const char *name)
{
	cJSON *dev = device_named(c, name);
	ends e;
	bool any = false;
	if (!*name) /* so are links called that share no channel */
		return berth_fail(c->err, BERTH_EINVAL, "'-' takes nothing away; expected -DEVICE or -A:B");
	if (dev) {
		remove_device(c, dev);
		return BERTH_OK;
	}
	if (read_ends(c, name, &e)) {
		ends back = {e.to, e.from, false};
		if (!link_between(c, &e) && !(e.both_ways && link_between(c, &back)))
			return fail(c, "there is no link", name);
		BERTH_TRY(remove_way(c, &e));
		return e.both_ways ? remove_way(c, &back) : BERTH_OK;
	}
	for (cJSON *next, *l = first_of(c, "links"); l; l = next) {
		next = l->next;
		if (!is(l, "shared", name))
			continue;
		any = true;
		drop(l, list_of(c, "links"));
	}
	return any ? BERTH_OK : fail_name(c, name);
}

/* ---- more ---- */

/* Do only links of the device share that channel? */
static bool is_own(const changer *c, const char *shared, const char *device)
{
	for (const cJSON *l = first_of(c, "links"); l; l = l->next)
		if (is(l, "shared", shared) && !is(l, "from", device) && !is(l, "to", device))
			return false;
	return true;
}

/* The links of the device, for the new one. */
static berth_status copy_links(changer *c, const char *device, const char *name)
{
	int n = cJSON_GetArraySize(list_of(c, "links"));
	for (int i = 0; i < n; i++) {
		const cJSON *l = cJSON_GetArrayItem(list_of(c, "links"), i);
		bool from = is(l, "from", device);
		const char *shared = text_of(l, "shared");
		if (!from && !is(l, "to", device))
			continue;
		bool own = *shared && is_own(c, shared, device);
		cJSON *copy = cJSON_Duplicate(l, true);
		BERTH_TRY(append(c, "links", copy));
		BERTH_TRY(put_text(c, copy, from ? "from" : "to", name));
		if (own) {
			const char *channel = berth_arena_printf(c->tmp, "%s.%s", name, shared);
			BERTH_TRY(berth_got(channel, c->err));
			BERTH_TRY(put_text(c, copy, "shared", channel));
		}
	}
	return BERTH_OK;
}

static berth_status add_device(changer *c, const char *name, const cJSON *like)
{
	const char *old = text_of(like, "name");
	const char *kind = *text_of(like, "kind") ? text_of(like, "kind") : old;
	cJSON *copy = cJSON_Duplicate(like, true);
	BERTH_TRY(append(c, "devices", copy));
	BERTH_TRY(put_text(c, copy, "kind", kind));
	BERTH_TRY(put_text(c, copy, "name", name));
	BERTH_TRY(copy_links(c, old, name));
	for (cJSON *p = first_of(c, "memory_pools"); p; p = p->next) {
		cJSON *one = member(p, old) ? cJSON_CreateString(name) : NULL;
		if (!member(p, old) ||
		    cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(p, "devices"), one))
			continue;
		cJSON_Delete(one);
		return berth_nomem(c->err);
	}
	return BERTH_OK;
}

/* "12GB/s" or "12GB/s@5us". */
static berth_status read_figures(changer *c, const char *text, double *bandwidth, double *latency)
{
	const char *end;
	*latency = 0;
	*bandwidth = berth_unit_number(BERTH_BYTES_PER_S, text, &end);
	if (*end == '@')
		*latency = berth_unit_number(BERTH_SECONDS, end + 1, &end);
	if (isfinite(*bandwidth) && isfinite(*latency) && !*end)
		return BERTH_OK;
	return berth_fail(c->err, BERTH_EINVAL,
	                  "'%.80s': '%.40s' is no link; expected a bandwidth and perhaps a latency, as in "
	                  "12GB/s@5us, or like:LINK",
	                  c->what, text);
}

static berth_status add_link(changer *c, const ends *e, const char *value)
{
	double bandwidth = 0, latency = 0;
	ends model = {NULL, NULL, false}, back = {e->to, e->from, false};
	const cJSON *like = NULL;
	if (strncmp(value, "like:", 5) == 0) {
		like = read_ends(c, value + 5, &model) ? link_between(c, &model) : NULL;
		if (!like)
			return fail(c, "there is no link", value + 5);
	} else {
		BERTH_TRY(read_figures(c, value, &bandwidth, &latency));
	}
	if (link_between(c, e) || (e->both_ways && link_between(c, &back)))
		return berth_fail(c->err, BERTH_EINVAL, "'%.80s': there is such a link already", c->what);
	cJSON *link = like ? cJSON_Duplicate(like, true) : cJSON_CreateObject();
	BERTH_TRY(append(c, "links", link));
	cJSON_DeleteItemFromObjectCaseSensitive(link, "both_ways");
	cJSON_DeleteItemFromObjectCaseSensitive(link, "shared");
	BERTH_TRY(put_text(c, link, "from", e->from));
	BERTH_TRY(put_text(c, link, "to", e->to));
	if (!like) {
		BERTH_TRY(put_number(c, link, "bandwidth", bandwidth));
		BERTH_TRY(put_number(c, link, "latency_s", latency));
	}
	return !e->both_ways || cJSON_AddTrueToObject(link, "both_ways") ? BERTH_OK : berth_nomem(c->err);
}

static berth_status put_in(changer *c, const char *text)
{
	char *name = berth_arena_strdup(c->tmp, text), *value = name ? strrchr(name, '=') : NULL;
	ends e;
	BERTH_TRY(berth_got(name, c->err));
	if (!value || value == name || !value[1])
		return berth_fail(c->err, BERTH_EINVAL,
		                  "'%.80s' adds nothing; expected +NEW=like:DEVICE or +A:B=12GB/s", c->what);
	*value++ = '\0';
	if (read_ends(c, name, &e))
		return add_link(c, &e, value);
	if (strncmp(value, "like:", 5) != 0)
		return fail_name(c, name);
	const cJSON *like = device_named(c, value + 5);
	if (device_named(c, name))
		return fail(c, "there is already a device", name);
	return like ? add_device(c, name, like) : fail_name(c, value + 5);
}

/* ---- all of it ---- */

static berth_status change(changer *c, const char *what)
{
	c->what = what;
	if (*what != '-' && *what != '+') {
		BERTH_TRY(close_doc(c));
		return berth_system_set(&c->s, what, c->tmp, c->err);
	}
	BERTH_TRY(open_doc(c));
	return *what == '-' ? take_away(c, what + 1) : put_in(c, what + 1);
}

static berth_status change_all(changer *c, const char *changes)
{
	for (const char *at = changes; *at;) {
		size_t n = strcspn(at, ",");
		const char *one = berth_arena_strndup(c->tmp, at, n);
		BERTH_TRY(berth_got(one, c->err));
		BERTH_TRY(change(c, one));
		at += n + (at[n] == ',');
	}
	BERTH_TRY(close_doc(c));
	berth_status st = berth_system_check(&c->s, c->tmp, c->err);
	return st == BERTH_EFORMAT ? berth_fail_in(c->err, BERTH_EINVAL, "after '%.80s': ", changes) : st;
}

berth_status berth_system_change(const berth_system *s, const char *changes, berth_arena *mem,
                                 berth_arena *tmp, berth_system *out, berth_err *err)
{
	changer c = {.mem = mem, .tmp = tmp, .err = err};
	BERTH_SCRATCH(tmp);
	berth_status st = berth_system_clone(s, mem, &c.s, err);
	if (st == BERTH_OK)
		st = change_all(&c, changes);
	cJSON_Delete(c.doc);
	if (st == BERTH_OK)
		*out = c.s;
	return st;
}
