/* Error messages: formatting only; nothing here allocates or prints, but for berth_must. */
#include "status.h"

#include "visible.h"

#include <stdarg.h>

berth_status berth_fail(berth_err *err, berth_status code, const char *fmt, ...)
{
	if (err) {
		char text[sizeof err->msg];
		va_list ap;
		va_start(ap, fmt);
		err->code = code;
		berth_visible_vprint(text, sizeof text, fmt, ap);
		va_end(ap);
		memcpy(err->msg, text, sizeof text);
	}
	return code;
}

berth_status berth_nomem(berth_err *err)
{
	return berth_fail(err, BERTH_ENOMEM, "out of memory");
}

berth_status berth_fail_in(berth_err *err, berth_status code, const char *fmt, ...)
{
	if (err && err->code == BERTH_ENOMEM)
		return BERTH_ENOMEM;
	if (err) {
		char tail[sizeof err->msg], head[sizeof err->msg];
		va_list ap;
		va_start(ap, fmt);
		berth_visible_vprint(head, sizeof head, fmt, ap);
		va_end(ap);
		memcpy(tail, err->msg, sizeof tail);
		berth_fail(err, code, "%s%s", head, tail);
	}
	return code;
}

void berth_must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "a check between passes fails: %s\n", err->msg);
	abort();
}

int berth_exit_code(berth_status code)
{
	switch (code) {
	case BERTH_OK: return 0;
	case BERTH_ENOMEM: return 1;
	case BERTH_EINVAL:
	case BERTH_EUNSUPPORTED: return 2;
	case BERTH_EINFEASIBLE: return 3;
	case BERTH_EFORMAT: return 4;
	case BERTH_EIO: return 5;
	case BERTH_ELIMIT: return 6;
	case BERTH_EINTERRUPTED: return 130;
	}
	return 1;
}
