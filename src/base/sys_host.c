/* SPDX-License-Identifier: MIT */
/* The parts that each system has in its own way, also in a portable build. */
#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/sys.h"

#include <errno.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef __linux__

#include <sys/prctl.h>
#include <sys/vfs.h>

/* Magic numbers of file systems that ask others; see statfs(2). */
bool sys_is_remote(int fd)
{
	static const uint32_t remote[] = {
	    0x6969,                             /* NFS */
	    0x65735546,                         /* FUSE: sshfs, rclone, virtiofs */
	    0x517b,     0xff534d42, 0xfe534d42, /* SMB, CIFS, SMB2 */
	    0x01021997,                         /* 9P */
	    0x00c36400,                         /* Ceph */
	    0x5346414f, 0x6b414653,             /* AFS */
	    0x564c,     0x73757245, 0x786f4256, /* NCP, Coda, VirtualBox shared folders */
	    0x47504653, 0x013111a8, 0x0bd00bd0, /* GPFS, IBRIX, Lustre */
	    0x7461636f, 0xbacbacbc, 0x19830326, /* OCFS2, VMware shared folders, BeeGFS */
	    0x0187,                             /* autofs */
	};
	struct statfs fs;
	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
		if ((uint32_t)fs.f_type == remote[i])
			return true;
	return false;
}

/* Takes the next word of a line of mountinfo, which writes blanks and backslashes in octal. */
static char *mount_word(char **line)
{
	char *word = strsep(line, " \n"), *to = word;
	for (const char *p = word; p && *p; to++) {
		unsigned c = (unsigned char)*p++;
		p += c == '\\' && sscanf(p, "%3o", &c) == 1 ? 3 : 0;
		*to = (char)c;
	}
	if (word)
		*to = '\0';
	return word;
}

int sys_each_mount(int (*fn)(void *arg, const struct sys_mount *m), void *arg)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line CLEANUP_FREE = NULL;
	size_t size = 0;
	int rc = 0;
	while (mounts && rc == 0 && getline(&line, &size, mounts) > 0) {
		struct sys_mount m = {0};
		char *at = line, *word = at;
		unsigned major = 0, minor = 0;
		/* Its number, its parent's, device, root, directory, options, others up to a dash. */
		for (int i = 0; word && strcmp(word, "-") != 0; i++) {
			word = mount_word(&at);
			if (word && i == 2 && sscanf(word, "%u:%u", &major, &minor) == 2)
				m.device = makedev(major, minor);
			m.dir = i == 4 ? word : m.dir;
		}
		m.type = mount_word(&at);
		m.source = mount_word(&at);
		m.options = mount_word(&at);
		if (m.dir && m.options)
			rc = fn(arg, &m);
	}
	if (mounts)
		fclose(mounts);
	return rc;
}

char *sys_program_path(void)
{
	return realpath("/proc/self/exe", NULL);
}

/* The leak sanitizer is such a debugger. */
void sys_forbid_debugging(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
	/* Not for users: they unmount with fusermount3, which is setuid and must keep its rights. */
	if (geteuid() == 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

#else

#include <mach-o/dyld.h>
#include <sys/mount.h>
#include <sys/param.h>

bool sys_is_remote(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) < 0 || !(fs.f_flags & MNT_LOCAL);
}

/* Only Linux mounts sessions. */
int sys_each_mount(int (*fn)(void *arg, const struct sys_mount *m), void *arg)
{
	(void)fn, (void)arg;
	return 0;
}

char *sys_program_path(void)
{
	char path[4096];
	uint32_t n = sizeof path;
	return _NSGetExecutablePath(path, &n) == 0 ? realpath(path, NULL) : NULL;
}

void sys_forbid_debugging(void)
{
}

#endif

const char *sys_error_name(int err)
{
#ifdef __GLIBC__
	return strerrorname_np(err);
#else
#define NAMED(name) [name] = #name
	static const char *const names[] = {
	    NAMED(EPERM),   NAMED(ENOENT),       NAMED(EINTR),      NAMED(EIO),    NAMED(EAGAIN), NAMED(ENOMEM),
	    NAMED(EACCES),  NAMED(EBUSY),        NAMED(EEXIST),     NAMED(EXDEV),  NAMED(ENODEV), NAMED(ENOTDIR),
	    NAMED(EISDIR),  NAMED(EINVAL),       NAMED(ENFILE),     NAMED(EMFILE), NAMED(EFBIG),  NAMED(ENOSPC),
	    NAMED(EROFS),   NAMED(EMLINK),       NAMED(ERANGE),     NAMED(ELOOP),  NAMED(ESTALE), NAMED(EDQUOT),
	    NAMED(ENODATA), NAMED(ENAMETOOLONG), NAMED(EOPNOTSUPP),
	};
	return (size_t)err < sizeof names / sizeof *names ? names[err] : NULL;
#endif
}

void sys_tune_memory(void)
{
#ifdef __GLIBC__
	/* By default each thread has its own arena, and memory freed in the middle of one stays there: the process
	 * grows beyond its data. With few arenas, and large blocks in mappings of their own, evicted memory returns to
	 * the system. Read buffers stay below the threshold, because they are short-lived. */
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 320 * 1024);
	mallopt(M_TRIM_THRESHOLD, 2 * 1024 * 1024);
#endif
}
