/* Where SQLite was not found at build. */
#include "profile_cache.h"

berth_status berth_profile_cache_open(const char *path, berth_arena *mem, berth_profile_cache **out,
                                      berth_err *err)
{
	(void)mem, (void)out;
	return berth_fail(err, BERTH_EIO,
	                  "%.200s: berth was built without SQLite: install libsqlite3-dev and build again, "
	                  "or leave --cache out",
	                  path);
}

void berth_profile_cache_close(berth_profile_cache *c)
{
	(void)c;
}

berth_status berth_profile_cache_get(berth_profile_cache *c, const char *engine, const char *device,
                                     const char *op, berth_cached *out, bool *found, berth_err *err)
{
	(void)c, (void)engine, (void)device, (void)op, (void)out, (void)err;
	*found = false;
	return BERTH_OK;
}

berth_status berth_profile_cache_put(berth_profile_cache *c, const char *engine, const char *device,
                                     const char *op, const berth_cached *x, berth_err *err)
{
	(void)c, (void)engine, (void)device, (void)op, (void)x, (void)err;
	return BERTH_OK;
}
