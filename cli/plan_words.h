/* A plan knows the words and dimensions that its model was read with, those of its system's times, and the
 * engine that it is for. Who uses the plan need not say them again. */
#pragma once

#include "cli.h"
#include "placement.h"

/* Tell p the words of spec and of c->dim. A graph of a language model that was placed for both of its uses is
 * read again by the words of its name. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status cli_plan_words_tell(cli *c, const char *spec, bool by_name, berth_placement *p, berth_err *err);

/* The same of the models in c->args, each word behind the number of its model and a colon. */
berth_status cli_plan_words_tell_all(cli *c, berth_placement *p, berth_err *err);

/* The words of the plan at path that neither spec nor c->dim have go to c->dim, before the model is read,
 * those of its times to c->times and c->calibrate, and its engine to c->engine unless that is set. spec NULL:
 * several models, whose words go behind their names in c->args. Fails: BERTH_EINVAL (one of them has another
 * value), BERTH_EIO, BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status cli_plan_words_take(cli *c, const char *path, const char *spec, berth_err *err);
