/* Reads the catalogue's text: the names of its columns say which figure of a row a field is, and in what
 * unit. */
#include "catalogue.h"

#include "text.h"

static const char *const class_names[BERTH_N_DEVICE_CLASSES] = {NULL, "gpu", "cpu", "npu"};

const char *berth_device_class_name(berth_device_class c)
{
	return class_names[c];
}

/* ---- columns ---- */

typedef enum field_type { TEXT, NUMBER, COUNT, YES, CLASS } field_type;

typedef struct column {
	const char *key;
	field_type type;
	size_t offset;
	double unit;
} column;

#define DEVICE(key, type, field, unit) {key, type, offsetof(berth_device_row, field), unit}
#define LINK(key, type, field, unit) {key, type, offsetof(berth_link_row, field), unit}
#define PEAK(key, p) DEVICE(key, NUMBER, peak[p], 1e12)

static const column device_columns[] = {
	DEVICE("device", TEXT, name, 1),
	DEVICE("vendor", TEXT, vendor, 1),
	DEVICE("class", CLASS, device_class, 1),
	DEVICE("architecture", TEXT, architecture, 1),
	DEVICE("year", COUNT, year, 1),
	DEVICE("process_nm", NUMBER, process_nm, 1),
	DEVICE("units", COUNT, units, 1),
	DEVICE("lanes", COUNT, lanes, 1),
	DEVICE("clock_mhz", NUMBER, clock_hz, 1e6),
	DEVICE("base_mhz", NUMBER, base_hz, 1e6),
	DEVICE("simd_bits", COUNT, simd_bits, 1),
	DEVICE("fma_units", COUNT, fma_units, 1),
	DEVICE("channels", COUNT, memory_channels, 1),
	DEVICE("amx", YES, has_amx, 1),
	DEVICE("memory_gb", NUMBER, memory_bytes, 1e9),
	DEVICE("gb_s", NUMBER, mem_bandwidth, 1e9),
	DEVICE("cache_mib", NUMBER, cache_bytes, 1048576),
	DEVICE("watts", NUMBER, watts, 1),
	PEAK("f64", BERTH_F64),
	PEAK("f32", BERTH_F32),
	PEAK("tf32", BERTH_TF32),
	PEAK("f16", BERTH_F16),
	PEAK("bf16", BERTH_BF16),
	PEAK("f8", BERTH_F8),
	PEAK("int8", BERTH_INT8),
	PEAK("int4", BERTH_INT4),
	DEVICE("drivers", TEXT, drivers, 1),
	DEVICE("source", TEXT, source, 1),
};

static const column link_columns[] = {
	LINK("link", TEXT, name, 1),
	LINK("raw_gb_s", NUMBER, raw_bandwidth, 1e9),
	LINK("gb_s", NUMBER, bandwidth, 1e9),
	LINK("latency_us", NUMBER, latency_s, 1e-6),
	LINK("both_ways", YES, both_ways, 1),
	LINK("source", TEXT, source, 1),
};

enum {
	N_DEVICE_COLUMNS = sizeof device_columns / sizeof *device_columns,
	N_LINK_COLUMNS = sizeof link_columns / sizeof *link_columns,
	MAX_COLUMNS = N_DEVICE_COLUMNS
};

/* ---- reading ---- */

typedef struct section {
	bool of_devices;
	int n;
	const column *column[MAX_COLUMNS];
} section;

/* The field at *at ends with a 0 from now on; *at is the next one. */
static char *cut_field(char **at, bool last)
{
	char *field = *at, *comma = last ? NULL : strchr(field, ',');
	*at = comma ? comma + 1 : field + strlen(field);
	if (comma)
		*comma = '\0';
	return field;
}

static berth_status begin_section(section *s, char *line, int at, berth_err *err)
{
	const column *known = device_columns;
	int n_known = N_DEVICE_COLUMNS;
	s->of_devices = strncmp(line, "device,", 7) == 0;
	s->n = 0;
	if (!s->of_devices) {
		known = link_columns;
		n_known = N_LINK_COLUMNS;
	}
	while (*line) {
		const char *key = cut_field(&line, false);
		int k = 0;
		while (k < n_known && strcmp(known[k].key, key) != 0)
			k++;
		if (k == n_known || s->n == MAX_COLUMNS)
			return berth_fail(err, BERTH_EFORMAT, "line %d: unknown column '%.20s'", at, key);
		s->column[s->n++] = &known[k];
	}
	return BERTH_OK;
}

/* Puts a field where its column says. false: it is none of the column's type. An empty one is a 0. */
static bool put(const column *c, char *field, unsigned char *row)
{
	const char *end = field;
	double x = *field ? berth_text_number(field, &end) : 0;
	if (c->type == TEXT) {
		memcpy(row + c->offset, &field, sizeof field);
		return true;
	}
	if (c->type == CLASS) {
		for (int k = 1; k < BERTH_N_DEVICE_CLASSES; k++)
			if (strcmp(field, class_names[k]) == 0) {
				berth_device_class class = (berth_device_class)k;
				memcpy(row + c->offset, &class, sizeof class);
				return true;
			}
		return false;
	}
	if (*end || !(x >= 0 && x < 1e9) || (c->type != NUMBER && x != floor(x)))
		return false;
	if (c->type == NUMBER)
		memcpy(row + c->offset, &(double){c->unit > 1 ? round(x * c->unit) : x * c->unit},
		       sizeof(double));
	else if (c->type == COUNT)
		memcpy(row + c->offset, &(int32_t){(int32_t)x}, sizeof(int32_t));
	else
		memcpy(row + c->offset, &(bool){x > 0}, sizeof(bool));
	return true;
}

static berth_status read_row(const section *s, char *line, int at, berth_catalogue *out, berth_err *err)
{
	unsigned char *row;
	if (s->of_devices) {
		berth_device_row *d = &out->device[out->n_devices++];
		d->name = d->vendor = d->architecture = d->drivers = d->source = "";
		row = (unsigned char *)d;
	} else {
		berth_link_row *l = &out->link[out->n_links++];
		l->name = l->source = "";
		row = (unsigned char *)l;
	}
	for (int k = 0; k < s->n; k++) {
		char *field = cut_field(&line, k == s->n - 1);
		if (!put(s->column[k], field, row))
			return berth_fail(err, BERTH_EFORMAT, "line %d: '%.40s' is no %s", at, field,
			                  s->column[k]->key);
	}
	return BERTH_OK;
}

berth_status berth_catalogue_parse(const char *text, size_t size, berth_arena *mem, berth_catalogue *out,
                                   berth_err *err)
{
	size_t n_lines = 1;
	section s = {.n = 0};
	berth_catalogue c = {.n_devices = 0};
	char *copy, *end;
	for (size_t i = 0; i < size; i++)
		n_lines += text[i] == '\n';
	BERTH_TRY_NEW(mem, size + 1, err, copy);
	BERTH_TRY_NEW(mem, n_lines, err, c.device, c.link);
	BERTH_COPY(copy, text, size);
	int at = 0;
	for (char *line = copy; line; line = end) {
		at++;
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		if (*line == '#' || *line == '\0')
			continue;
		if (strncmp(line, "device,", 7) == 0 || strncmp(line, "link,", 5) == 0)
			BERTH_TRY(begin_section(&s, line, at, err));
		else if (s.n == 0)
			return berth_fail(err, BERTH_EFORMAT, "line %d: no names of columns before it", at);
		else
			BERTH_TRY(read_row(&s, line, at, &c, err));
	}
	for (int32_t i = 0; i < c.n_devices; i++) {
		/* What follows from figures of a row. */
		if (c.device[i].simd_bits && c.device[i].fma_units)
			c.device[i].lanes = c.device[i].simd_bits / 32 * c.device[i].fma_units;
		if (c.device[i].device_class == BERTH_CLASS_CPU && c.device[i].clock_hz == 0)
			c.device[i].clock_hz = c.device[i].base_hz;
	}
	*out = c;
	return BERTH_OK;
}

berth_status berth_catalogue_read(berth_arena *mem, berth_catalogue *out, berth_err *err)
{
	return berth_catalogue_parse((const char *)berth_devices_csv, berth_devices_csv_size, mem, out, err);
}

/* ---- finding ---- */

/* Is name the word, or the word and a size of memory, as in "rtx-3060" and "rtx-3060-12gb"? loose: letters
 * are the same in both cases, and "RTX 3060" and "rtx3060" are words of it, too. */
static bool is_named(const char *name, const char *word, bool loose)
{
	static const char between[] = "-_ ";
	const char *at = name;
	for (bool any = false; *word; word++, any = true) {
		if (loose && any && strchr(between, *word))
			continue;
		at += loose && any && *at == '-';
		if (*at != (loose && *word >= 'A' && *word <= 'Z' ? *word - 'A' + 'a' : *word))
			return false;
		at++;
	}
	size_t digits = at > name && *at == '-' ? strspn(at + 1, "0123456789") : 0;
	return at > name && (!*at || (digits && strcmp(at + 1 + digits, "gb") == 0));
}

enum { MOST_MEANT = 4 };

berth_status berth_device_find(const berth_catalogue *c, const char *name, berth_arena *tmp,
                               const berth_device_row **out, berth_err *err)
{
	const char **names;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, 2 * c->n_devices, err, names);
	for (int32_t i = 0; i < c->n_devices; i++) {
		const char *vendor_end = strchr(c->device[i].name, '-');
		names[i] = c->device[i].name;
		names[c->n_devices + i] = vendor_end ? vendor_end + 1 : names[i];
	}
	for (int loose = 0; loose < 2; loose++)
		for (int32_t i = 0; i < 2 * c->n_devices; i++)
			if (is_named(names[i], name, loose > 0)) {
				*out = &c->device[i % c->n_devices];
				return BERTH_OK;
			}
	/* The names that were meant perhaps: those that begin with the word, else the nearest ones. */
	int32_t n = 2 * c->n_devices;
	const char *nearest = berth_text_nearest(name, names, n);
	char text[256] = "";
	size_t len = 0;
	int k = 0;
	if (!nearest)
		return berth_fail(err, BERTH_EFORMAT, "unknown device '%.60s'; 'berth devices' lists them",
		                  name);
	const bool begins = strncmp(nearest, name, strlen(name)) == 0;
	const bool part = strstr(nearest, name) != NULL;
	int distance = berth_text_distance(name, nearest);
	for (int32_t i = 0; i < n && k < MOST_MEANT && len < sizeof text; i++)
		if (begins ? strncmp(names[i], name, strlen(name)) == 0
		    : part ? i >= n / 2 && strstr(names[i], name)
		           : berth_text_distance(name, names[i]) == distance)
			len += (size_t)snprintf(text + len, sizeof text - len, k++ ? ", '%s'" : "'%s'",
			                        names[i]);
	return berth_fail(err, BERTH_EFORMAT,
	                  "unknown device '%.60s' (did you mean %s?); 'berth devices' lists them", name,
	                  text);
}

berth_status berth_link_find(const berth_catalogue *c, const char *name, berth_arena *tmp,
                             const berth_link_row **out, berth_err *err)
{
	const char **names;
	int32_t at;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, c->n_links, err, names);
	for (int32_t i = 0; i < c->n_links; i++)
		names[i] = c->link[i].name;
	if (berth_text_find(names, c->n_links, name, "link", "; 'berth devices' lists them", &at, err) !=
	    BERTH_OK)
		return berth_fail_in(err, BERTH_EFORMAT, "%s", "");
	*out = &c->link[at];
	return BERTH_OK;
}
