/* SPDX-License-Identifier: Apache-2.0 */
/* Claims about the network. Addresses are documentation ranges and the metadata services'; none is
 * ever reached from a box that holds. */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "programs/init/probe.h"

/* How no way out looks; EADDRNOTAVAIL: no source address for IPv6; EAFNOSUPPORT: no IPv6 at all. */
static const int no_way[] = {
	ENETUNREACH, EHOSTUNREACH, ECONNREFUSED, EACCES, EPERM, EADDRNOTAVAIL, EAFNOSUPPORT, 0};

static long try_to(int type, int family, const char *text, uint16_t port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} to = {0};
	socklen_t size = family == AF_INET ? sizeof(to.v4) : sizeof(to.v6);
	autoclose int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	to.any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		to.v4.sin_port = htons(port);
		(void)inet_pton(family, text, &to.v4.sin_addr);
	} else {
		to.v6.sin6_port = htons(port);
		(void)inet_pton(family, text, &to.v6.sin6_addr);
	}
	/* EINPROGRESS is a way out: a packet is on it */
	if (connect(fd, &to.any, size) < 0)
		return errno == EINPROGRESS ? 0 : -errno;
	if (type == SOCK_DGRAM && send(fd, "", 1, 0) < 0)
		return -errno;
	return 0;
}

void probe_net_v4(const struct start *s, struct claim_result *r)
{
	(void)s;
	if (probe_refused(r, 0, try_to(SOCK_STREAM, AF_INET, "192.0.2.1", 443), no_way))
		(void)probe_refused(
			r, 1, try_to(SOCK_STREAM, AF_INET, "169.254.169.254", 80), no_way);
}

void probe_net_v6(const struct start *s, struct claim_result *r)
{
	(void)s;
	if (probe_refused(r, 0, try_to(SOCK_STREAM, AF_INET6, "2001:db8::1", 443), no_way))
		(void)probe_refused(
			r, 1, try_to(SOCK_STREAM, AF_INET6, "fd00:ec2::254", 80), no_way);
}

void probe_net_udp(const struct start *s, struct claim_result *r)
{
	(void)s;
	if (probe_refused(r, 0, try_to(SOCK_DGRAM, AF_INET, "192.0.2.1", 53), no_way))
		(void)probe_refused(r, 1, try_to(SOCK_DGRAM, AF_INET6, "2001:db8::1", 443), no_way);
}

static long try_socket(int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

void probe_net_raw(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {EPERM, EACCES, EAFNOSUPPORT, 0};

	(void)s;
	if (probe_refused(r, 0, try_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), refused) &&
		probe_refused(r, 1, try_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), refused) &&
		probe_refused(r, 2, try_socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6), refused))
		(void)probe_refused(
			r, 3, try_socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), refused);
}

void probe_net_vsock(const struct start *s, struct claim_result *r)
{
	/* vsock reaches a hypervisor past every network namespace; alg is a way into the kernel's
	 * crypto; unix and netlink's routing half are what remains */
	static const struct {
		int family, type, protocol;
	} families[] = {{AF_VSOCK, SOCK_STREAM, 0}, {AF_ALG, SOCK_SEQPACKET, 0},
		{AF_BLUETOOTH, SOCK_RAW, 1}, {AF_TIPC, SOCK_SEQPACKET, 0},
		{AF_NETLINK, SOCK_RAW, 12 /* netfilter */}};
	static const int refused[] = {EAFNOSUPPORT, 0};

	(void)s;
	for (size_t i = 0; i < array_count(families); i++)
		if (!probe_refused(r, i,
			    try_socket(families[i].family, families[i].type, families[i].protocol),
			    refused))
			return;
}

void probe_net_loopback(const struct start *s, struct claim_result *r)
{
	struct sockaddr_in here = {.sin_family = AF_INET};
	socklen_t size = sizeof(here);
	autoclose int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	autoclose int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd wait = {.fd = listener, .events = POLLIN};
	int fd;

	(void)s;
	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!probe_worked(r, 0, listener < 0 || client < 0 ? -errno : 0) ||
		!probe_worked(r, 1, bind(listener, (void *)&here, size) < 0 ? -errno : 0) ||
		!probe_worked(r, 2, listen(listener, 1) < 0 ? -errno : 0) ||
		!probe_worked(r, 3, getsockname(listener, (void *)&here, &size) < 0 ? -errno : 0))
		return;
	if (connect(client, (void *)&here, size) < 0 && errno != EINPROGRESS) {
		(void)probe_worked(r, 4, -errno);
		return;
	}
	(void)poll(&wait, 1, 1000); /* it is there at once, or not at all */
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (probe_worked(r, 5, fd < 0 ? -errno : 0))
		(void)close(fd);
}
