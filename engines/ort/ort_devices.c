/* The words of --devices and --hosts. */
#include "ort_plan.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

berth_status ort_devices_read(const char *text, const char *option, ort_device_list *out, berth_err *err)
{
	*out = (ort_device_list){0};
	while (*text) {
		ort_device *d = &out->dev[out->n];
		size_t n = strcspn(text, ","), name = strcspn(text, ",=");
		const char *end = NULL;
		if (out->n == EXEC_MAX_WORKERS)
			return berth_fail(err, BERTH_EINVAL, "%s names more than %d", option,
			                  EXEC_MAX_WORKERS);
		d->speed = text[name] == '=' ? berth_text_number(text + name + 1, &end) : 1;
		if (!name || name >= sizeof d->name || !(d->speed > 0 && d->speed <= 1) ||
		    (end && end != text + n))
			return berth_fail(err, BERTH_EINVAL,
			                  "%s '%.60s': NAME or NAME=SPEED with a speed above 0 and at most 1 "
			                  "was expected",
			                  option, text);
		snprintf(d->name, sizeof d->name, "%.*s", (int)name, text);
		for (int32_t i = 0; i < out->n; i++)
			if (strcmp(out->dev[i].name, d->name) == 0)
				return berth_fail(err, BERTH_EINVAL, "%s names '%s' twice", option, d->name);
		out->n++;
		text += n + (text[n] == ',');
	}
	return out->n ? BERTH_OK : berth_fail(err, BERTH_EINVAL, "%s names nothing", option);
}
