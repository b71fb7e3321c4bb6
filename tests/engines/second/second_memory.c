/* One sparse file in memory, mapped twice: closed, which is what everybody gets to see, and open. Blocks have
 * powers of two bytes, with the power in front; free ones hang in a list for each power. */
#define _GNU_SOURCE
#include "second_memory.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEAST = 8, POWERS = 40, ALIGN = 256 };
static const size_t total = (size_t)8 << 30;

typedef struct head {
	uint64_t power, next; /* next: offset of the next free block, 0: none */
} head;

typedef struct memory {
	pthread_mutex_t lock;
	unsigned char *closed, *open;
	size_t used;
	uint64_t free_at[POWERS];
} memory;

/* The library that is loaded is the device, so that there is one of it. */
static memory device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool map_device(void)
{
	int fd = memfd_create("second", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)total) != 0)
		return false;
	void *closed = mmap(NULL, total, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	void *open = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (closed == MAP_FAILED || open == MAP_FAILED)
		return false;
	device.closed = closed;
	device.open = open;
	device.used = ALIGN;
	return true;
}

static head *head_at(uint64_t at)
{
	return (head *)(void *)(device.open + at);
}

static uint64_t take(uint64_t power)
{
	uint64_t at = device.free_at[power], size = (uint64_t)1 << power;
	if (at) {
		device.free_at[power] = head_at(at)->next;
		return at;
	}
	if (size > total - device.used)
		return 0;
	at = device.used;
	device.used += size;
	head_at(at)->power = power;
	return at;
}

void *second_alloc(size_t size)
{
	uint64_t power = LEAST + 1, at = 0;
	while (power < POWERS && ((uint64_t)1 << power) - ALIGN < size)
		power++;
	pthread_mutex_lock(&device.lock);
	if (power < POWERS && (device.open || map_device()))
		at = take(power);
	pthread_mutex_unlock(&device.lock);
	return at ? device.closed + at + ALIGN : NULL;
}

void second_free(void *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&device.lock);
	uint64_t at = (uint64_t)((unsigned char *)p - device.closed) - ALIGN;
	head *h = head_at(at);
	h->next = device.free_at[h->power];
	device.free_at[h->power] = at;
	pthread_mutex_unlock(&device.lock);
}

void *second_bytes(const void *p)
{
	uintptr_t at = (uintptr_t)p, from = (uintptr_t)device.closed;
	return device.closed && at >= from && at - from < total ? device.open + (at - from) : (void *)at;
}
