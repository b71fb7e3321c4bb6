/* --device NAME=THEIRS: what another program calls the devices of a system. */
#pragma once

#include "cli.h"
#include "system.h"

/* *theirs [n_devs], NULL for devices that nothing was told of; NULL: there are no texts. A text names a
 * device, else all devices of a kind. Fails: BERTH_EINVAL (no such text or device; a device twice),
 * BERTH_ENOMEM. */
berth_status export_devices_read(cli *c, const cli_texts *text, const berth_system *s, const char ***theirs,
                                 berth_err *err);
