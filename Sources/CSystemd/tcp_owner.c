#define _GNU_SOURCE
#include "CSystemd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct request {
  struct nlmsghdr header;
  struct inet_diag_req_v2 body;
};

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static int is_mapped(const uint8_t address[16]) {
  return memcmp(address, mapped_prefix, sizeof mapped_prefix) == 0;
}

// Whether an address in the kernel's reply, in the address family of the reply, is the requested
// one.
static int is_same(int family, const __be32 found[4], const uint8_t wanted[16]) {
  if (family == AF_INET6) return memcmp(found, wanted, 16) == 0;
  return is_mapped(wanted) && memcmp(found, wanted + 12, 4) == 0;
}

// Reads the owner from the kernel's reply. Rejects a reply that does not describe a connection with
// an owner: for a socket that no process holds (closed, TIME_WAIT) the kernel reports uid 0, and if
// there is no connection it reports a listener.
static int read_owner(const struct inet_diag_msg *found, const struct inet_diag_sockid *wanted,
                      const uint8_t local[16], const uint8_t remote[16], uint32_t *owner) {
  if (found->idiag_inode == 0 || found->idiag_state == TCP_LISTEN ||
      found->idiag_state == TCP_TIME_WAIT)
    return -ENOENT;
  if (found->id.idiag_sport != wanted->idiag_sport || found->id.idiag_dport != wanted->idiag_dport)
    return -ENOENT;
  if (!is_same(found->idiag_family, found->id.idiag_src, local) ||
      !is_same(found->idiag_family, found->id.idiag_dst, remote))
    return -ENOENT;
  *owner = found->idiag_uid;
  return 0;
}

static int ask(int fd, const struct request *request, const uint8_t local[16],
               const uint8_t remote[16], uint32_t *owner) {
  // The kernel replies at once. The timeout is a safeguard.
  const struct timeval limit = {.tv_sec = 1};
  if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0) return -errno;
  const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  if (sendto(fd, request, sizeof *request, 0, (const struct sockaddr *)&kernel, sizeof kernel) < 0)
    return -errno;

  union {
    struct nlmsghdr header;
    char bytes[8192];
  } answer;
  struct sockaddr_nl from = {0};
  socklen_t from_size = sizeof from;
  ssize_t size = recvfrom(fd, &answer, sizeof answer, 0, (struct sockaddr *)&from, &from_size);
  if (size < 0) return -errno;
  if (from.nl_pid != 0 || !NLMSG_OK(&answer.header, (size_t)size)) return -EPROTO;
  if (answer.header.nlmsg_type == NLMSG_ERROR) {
    if (answer.header.nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr))) return -EPROTO;
    int error = ((const struct nlmsgerr *)NLMSG_DATA(&answer.header))->error;
    return error < 0 ? error : -EPROTO;
  }
  if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      answer.header.nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
    return -EPROTO;
  return read_owner(NLMSG_DATA(&answer.header), &request->body.id, local, remote, owner);
}

int usher_tcp_owner(const uint8_t local[16], uint16_t local_port, const uint8_t remote[16],
                    uint16_t remote_port, uint32_t *owner) {
  const int is_v4 = is_mapped(local) && is_mapped(remote);
  struct request request = {
      .header = {.nlmsg_len = sizeof request,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
      .body = {.sdiag_family = is_v4 ? AF_INET : AF_INET6,
               .sdiag_protocol = IPPROTO_TCP,
               .idiag_states = ~0U,
               .id = {.idiag_sport = htons(local_port),
                      .idiag_dport = htons(remote_port),
                      .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
  };
  memcpy(request.body.id.idiag_src, local + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
  memcpy(request.body.id.idiag_dst, remote + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);

  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return -errno;
  int result = ask(fd, &request, local, remote, owner);
  close(fd);
  return result;
}
