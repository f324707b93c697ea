/*
 * sys/remote.c: whether a directory is on another machine, and whether a connection is
 * alive.
 */
#include "sys/remote.h"

#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#ifdef __linux__
#include <sys/vfs.h>

static bool is_one_of(const char *dir, const uint32_t *types, size_t nr)
{
	struct statfs st;

	if (statfs(dir, &st))
		return false;
	for (size_t i = 0; i < nr; i++)
		if ((uint32_t)st.f_type == types[i])
			return true;
	return false;
}

bool grove__sys_is_remote(const char *dir)
{
	/* NFS, SMB (three of them), AFS (two), Ceph, 9P, Coda, Lustre */
	static const uint32_t types[] = { 0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x6b414653,
					  0x00c36400, 0x01021997, 0x73757245, 0x0bd00bd0 };

	return is_one_of(dir, types, sizeof(types) / sizeof(*types));
}

bool grove__sys_reports_all(const char *dir)
{
	/* ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, ZFS, F2FS, bcachefs */
	static const uint32_t types[] = { 0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1,
					  0xf2f52010, 0xca451a4e };

	return is_one_of(dir, types, sizeof(types) / sizeof(*types));
}
#else
bool grove__sys_is_remote(const char *dir)
{
	(void)dir;
	return false;
}

bool grove__sys_reports_all(const char *dir)
{
	(void)dir;
	return false;
}
#endif

static void set_number(int socket, int level, int name, int value)
{
	/* without this option, the system does not need it */
	setsockopt(socket, level, name, &value, sizeof(value));
}

void grove__sys_notice_silence(int socket, unsigned seconds)
{
	int third = seconds < 3 ? 1 : (int)seconds / 3;

	/* while waiting for an answer: after a third of the time, probe the connection */
	set_number(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_KEEPIDLE
	set_number(socket, IPPROTO_TCP, TCP_KEEPIDLE, third);
	set_number(socket, IPPROTO_TCP, TCP_KEEPINTVL, third);
	set_number(socket, IPPROTO_TCP, TCP_KEEPCNT, 2);
#endif
#ifdef TCP_USER_TIMEOUT
	/* while sending */
	set_number(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)seconds * 1000);
#endif
}
