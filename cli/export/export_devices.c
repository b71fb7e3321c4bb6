/* Reads --device NAME=THEIRS. A name of a device comes before a kind of devices, so that one of a kind can be
 * called by itself. */
#include "export_devices.h"

#include "text.h"

/* Give a device its name, unless it has one. */
static berth_status name_device(const berth_system *s, const char **theirs, int32_t d, const char *name,
                                berth_err *err)
{
	if (theirs[d])
		return berth_fail(err, BERTH_EINVAL,
		                  "option --device names '%.80s' twice: '%.80s' and '%.80s'", s->dev_name[d],
		                  theirs[d], name);
	theirs[d] = name;
	return BERTH_OK;
}

static berth_status read_device(const berth_system *s, const char *text, const char **theirs, berth_err *err)
{
	char hint[128], word[256];
	int32_t n = 0;
	for (int32_t d = 0; d < s->n_devs; d++) {
		size_t len = strlen(s->dev_name[d]);
		if (strncmp(text, s->dev_name[d], len) == 0 && text[len] == '=' && text[len + 1])
			return name_device(s, theirs, d, text + len + 1, err);
	}
	for (int32_t d = 0; d < s->n_devs; d++) {
		size_t len = strlen(s->dev_kind[d]);
		if (strncmp(text, s->dev_kind[d], len) != 0 || text[len] != '=' || !text[len + 1])
			continue;
		BERTH_TRY(name_device(s, theirs, d, text + len + 1, err));
		n++;
	}
	if (n)
		return BERTH_OK;
	size_t len = strcspn(text, "=");
	if (text[len] != '=' || !text[len + 1] || len == 0 || len >= sizeof word)
		return berth_fail(
			err, BERTH_EINVAL,
			"option --device: '%.80s' is not NAME=THEIRS, such as gpu0=CUDAExecutionProvider",
			text);
	memcpy(word, text, len);
	word[len] = '\0';
	return berth_fail(err, BERTH_EINVAL, "option --device: the system '%.80s' has no device '%.80s'%s",
	                  s->name, word, berth_text_suggest(hint, sizeof hint, word, s->dev_name, s->n_devs));
}

berth_status export_devices_read(cli *c, const cli_texts *text, const berth_system *s, const char ***theirs,
                                 berth_err *err)
{
	*theirs = NULL;
	if (!text->n)
		return BERTH_OK;
	BERTH_TRY_NEW(&c->mem, s->n_devs, err, *theirs);
	for (int32_t i = 0; i < text->n; i++)
		BERTH_TRY(read_device(s, text->text[i], *theirs, err));
	return BERTH_OK;
}
