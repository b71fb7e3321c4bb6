/* With clang's address sanitizer before LLVM 17 only: its allocator does not know fork. A child of a process
 * with threads finds a lock that one of them held, and waits for ever. From LLVM 17 on the runtime takes its
 * locks around fork itself; this does the same. The linker is told to take it (CMakeLists.txt). */
#include <pthread.h>

void berth_asan_lock_threads(void) __asm__("_ZN6__lsan18LockThreadRegistryEv");
void berth_asan_unlock_threads(void) __asm__("_ZN6__lsan20UnlockThreadRegistryEv");
void berth_asan_lock_memory(void) __asm__("_ZN6__lsan13LockAllocatorEv");
void berth_asan_unlock_memory(void) __asm__("_ZN6__lsan15UnlockAllocatorEv");
void berth_asan_lock_stacks(void) __asm__("_ZN11__sanitizer17StackDepotLockAllEv");
void berth_asan_unlock_stacks(void) __asm__("_ZN11__sanitizer19StackDepotUnlockAllEv");

const char *__asan_default_options(void);
void berth_asan_fork(void);

/* What the linker is told to look for: the sanitizer has options of its own that would do. */
void berth_asan_fork(void)
{
}

static void before(void)
{
	berth_asan_lock_threads();
	berth_asan_lock_memory();
	berth_asan_lock_stacks();
}

static void after(void)
{
	berth_asan_unlock_stacks();
	berth_asan_unlock_memory();
	berth_asan_unlock_threads();
}

/* Handlers before a fork run in the opposite order of how they came: a library that ends its threads there
 * (OpenBLAS) must come later than this. The sanitizer asks for its options before any library starts. */
__attribute__((no_sanitize("address", "undefined"))) const char *__asan_default_options(void)
{
	pthread_atfork(before, after, after);
	return "";
}
