/* A seccomp filter: a program for the kernel's packet-filter machine, which looks at the number and the
 * arguments of each system call. Values of 64 bits are seen as two halves; the low ones come first on both
 * architectures. */
#include "sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#define NR offsetof(struct seccomp_data, nr)
#define ARCH offsetof(struct seccomp_data, arch)
#define ARG(i) (offsetof(struct seccomp_data, args) + 8 * (i))

#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(at))
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, n)
#define SKIP_IF(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), n, 0)
#define SKIP_IF_ANY(bits, n) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), n, 0)
#define SKIP_UNLESS_ANY(bits, n) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), 0, n)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW_CALL(name) SKIP_UNLESS(__NR_##name, 1), ALLOW

bool sandbox_close_walls(int fd)
{
	struct sock_filter filter[] = {
		/* numbers mean what they mean on one architecture only */
		LOAD(ARCH), SKIP_IF(OUR_ARCH, 1), KILL,
		LOAD(NR),
		/* memory */
		ALLOW_CALL(brk), ALLOW_CALL(munmap), ALLOW_CALL(mremap), ALLOW_CALL(madvise),
		SKIP_UNLESS(__NR_mprotect, 4), LOAD(ARG(2)), SKIP_IF_ANY(PROT_EXEC, 1), ALLOW, KILL,
		SKIP_UNLESS(__NR_mmap, 6), LOAD(ARG(2)), SKIP_IF_ANY(PROT_EXEC, 3), LOAD(ARG(3)),
		SKIP_UNLESS_ANY(MAP_ANONYMOUS, 1), ALLOW, KILL,
		/* the answer */
		SKIP_UNLESS(__NR_write, 4), LOAD(ARG(0)), SKIP_UNLESS(fd, 1), ALLOW, KILL,
		/* how much memory there is: qsort of the C library asks */
		ALLOW_CALL(sysinfo),
		/* clocks, signals, the end */
		ALLOW_CALL(clock_gettime), ALLOW_CALL(clock_getres), ALLOW_CALL(gettimeofday),
		ALLOW_CALL(rt_sigreturn), ALLOW_CALL(exit), ALLOW_CALL(exit_group),
		KILL};
	const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* What filters there are is told by what is wrong with one that is nowhere. */
berth_sandbox_state berth_sandbox_there(void)
{
	bool known = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EFAULT;
	return known ? BERTH_SANDBOX_WORKS : BERTH_SANDBOX_REFUSED;
}
