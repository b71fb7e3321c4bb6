/* Memory of the second device. It lies at addresses that nobody may read or write, as that of a real one:
 * what is used without a copy ends the program. The provider itself sees the same bytes elsewhere.
 * Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* NULL: there is none left. */
void *second_alloc(size_t size);
void second_free(void *p);

/* The bytes of an address of the device, for the provider. Other addresses come back as they are. */
void *second_bytes(const void *p);
