/* The cache by SQLite: one table. */
#include "profile_cache.h"

#include <sqlite3.h>

struct berth_profile_cache {
	sqlite3 *db;
	sqlite3_stmt *get, *put;
	const char *path;
};

enum { N_FIGURES = 8 };

static berth_status refused(const berth_profile_cache *c, berth_err *err)
{
	if (sqlite3_errcode(c->db) == SQLITE_NOMEM)
		return berth_nomem(err);
	return berth_fail(err, BERTH_EIO, "%.200s: %.200s", c->path, sqlite3_errmsg(c->db));
}

static berth_status prepare(berth_profile_cache *c, berth_err *err)
{
	static const char make[] = "CREATE TABLE IF NOT EXISTS times(engine TEXT, device TEXT, op TEXT, n "
	                           "INTEGER, wall REAL, wall_low REAL, wall_high REAL,"
				   " wall_mad REAL, cpu REAL, cpu_low REAL, cpu_high REAL, cpu_mad REAL, "
	                           "PRIMARY KEY(engine, device, op)) WITHOUT ROWID";
	static const char get[] = "SELECT n, wall, wall_low, wall_high, wall_mad, cpu, cpu_low, cpu_high, "
	                          "cpu_mad FROM times WHERE engine=? AND device=? AND op=?";
	static const char put[] = "INSERT OR REPLACE INTO times VALUES(?,?,?,?,?,?,?,?,?,?,?,?)";
	sqlite3_busy_timeout(c->db, 5000);
	if (sqlite3_exec(c->db, make, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(c->db, get, -1, &c->get, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(c->db, put, -1, &c->put, NULL) != SQLITE_OK)
		return refused(c, err);
	return BERTH_OK;
}

berth_status berth_profile_cache_open(const char *path, berth_arena *mem, berth_profile_cache **out,
                                      berth_err *err)
{
	berth_profile_cache *c;
	BERTH_TRY_NEW(mem, 1, err, c);
	BERTH_TRY(berth_got(c->path = berth_arena_strdup(mem, path), err));
	berth_status st = sqlite3_open(path, &c->db) == SQLITE_OK ? prepare(c, err) : refused(c, err);
	if (st != BERTH_OK)
		berth_profile_cache_close(c);
	else
		*out = c;
	return st;
}

void berth_profile_cache_close(berth_profile_cache *c)
{
	if (!c)
		return;
	sqlite3_finalize(c->get);
	sqlite3_finalize(c->put);
	sqlite3_close(c->db);
	*c = (berth_profile_cache){0};
}

static void bind_key(sqlite3_stmt *s, const char *engine, const char *device, const char *op)
{
	sqlite3_reset(s);
	sqlite3_bind_text(s, 1, engine, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, device, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, op, -1, SQLITE_STATIC);
}

static double figure(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

berth_status berth_profile_cache_get(berth_profile_cache *c, const char *engine, const char *device,
                                     const char *op, berth_cached *out, bool *found, berth_err *err)
{
	bind_key(c->get, engine, device, op);
	int rc = sqlite3_step(c->get);
	*found = rc == SQLITE_ROW;
	if (*found)
		*out = (berth_cached){sqlite3_column_int(c->get, 0),
		                      {figure(c->get, 1), figure(c->get, 2), figure(c->get, 3),
		                       figure(c->get, 4)},
		                      {figure(c->get, 5), figure(c->get, 6), figure(c->get, 7),
		                       figure(c->get, 8)}};
	berth_status st = rc == SQLITE_ROW || rc == SQLITE_DONE ? BERTH_OK : refused(c, err);
	sqlite3_reset(c->get);
	return st;
}

berth_status berth_profile_cache_put(berth_profile_cache *c, const char *engine, const char *device,
                                     const char *op, const berth_cached *x, berth_err *err)
{
	const double figures[N_FIGURES] = {x->wall.median, x->wall.low, x->wall.high, x->wall.mad,
	                                   x->cpu.median,  x->cpu.low,  x->cpu.high,  x->cpu.mad};
	bind_key(c->put, engine, device, op);
	sqlite3_bind_int(c->put, 4, x->n);
	for (int i = 0; i < N_FIGURES; i++)
		sqlite3_bind_double(c->put, 5 + i, figures[i]); /* a NAN becomes NULL */
	berth_status st = sqlite3_step(c->put) == SQLITE_DONE ? BERTH_OK : refused(c, err);
	sqlite3_reset(c->put);
	return st;
}
