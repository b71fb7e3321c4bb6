/* Machines: from files, from bytes, and with changed figures. */
#include "api.h"

#include "load_system.h"
#include "system_change.h"
#include "system_json.h"
#include "system_warnings.h"

#include <stdlib.h>

typedef berth_status machine_maker(const void *from, berth_machine *m, berth_arena *tmp, berth_err *err);

/* A new machine that make fills. */
static berth_status new_machine(machine_maker *make, const void *from, berth_machine **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_machine *m = calloc(1, sizeof *m);
	BERTH_TRY(berth_got(m, err));
	berth_status st = make(from, m, &tmp, err);
	if (st == BERTH_OK)
		st = berth_system_warnings(&m->s, NULL, &m->mem, &tmp, &m->warning, &m->n_warnings, err);
	berth_arena_free(&tmp);
	GIVE(st, m, berth_machine_free, out);
}

static berth_status load(const void *from, berth_machine *m, berth_arena *tmp, berth_err *err)
{
	return berth_system_load(from, NULL, &m->mem, tmp, &m->s, err);
}

berth_status berth_machine_load(const char *spec, berth_machine **out, berth_err *err)
{
	return new_machine(load, spec, out, err);
}

static berth_status parse(const void *from, berth_machine *m, berth_arena *tmp, berth_err *err)
{
	const berth_content *c = from;
	return berth_system_parse_json(c->name, c->data, c->size, &m->mem, tmp, &m->s, err);
}

berth_status berth_machine_parse(const char *name, const void *data, size_t size, berth_machine **out,
                                 berth_err *err)
{
	const berth_content from = {.name = name, .data = data, .size = size};
	return new_machine(parse, &from, out, err);
}

typedef struct changed {
	const berth_machine *from;
	const char *changes;
} changed;

/* Written and read back, so that the new machine stands by itself. */
static berth_status change(const void *from, berth_machine *m, berth_arena *tmp, berth_err *err)
{
	const changed *c = from;
	berth_system copy;
	const char *text;
	size_t len;
	BERTH_TRY(berth_system_change(&c->from->s, c->changes ? c->changes : "", &m->mem, tmp, &copy, err));
	BERTH_TRY(berth_system_write_json(&copy, false, &m->mem, &text, &len, err));
	return berth_system_parse_json("changed machine", text, len, &m->mem, tmp, &m->s, err);
}

berth_status berth_machine_change(const berth_machine *machine, const char *changes, berth_machine **out,
                                  berth_err *err)
{
	const changed from = {machine, changes};
	return new_machine(change, &from, out, err);
}

void berth_machine_free(berth_machine *m)
{
	if (m)
		berth_arena_free(&m->mem);
	free(m);
}

const char *berth_machine_name(const berth_machine *m)
{
	return m->s.name;
}

int32_t berth_machine_count(const berth_machine *m)
{
	return m->s.n_devs;
}

const char *berth_machine_device(const berth_machine *m, int32_t device)
{
	return m->s.dev_name[device];
}

int32_t berth_machine_warnings(const berth_machine *m)
{
	return m->n_warnings;
}

const char *berth_machine_warning(const berth_machine *m, int32_t i)
{
	return m->warning[i];
}
