#define SD_JOURNAL_SUPPRESS_LOCATION
#include "CSystemd.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

int usher_notify(const char *message) { return sd_notify(0, message); }

int usher_watchdog_enabled(uint64_t *microseconds) { return sd_watchdog_enabled(0, microseconds); }

int usher_is_unix_listener(int fd) { return sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0); }

int usher_listen_fds(char ***names) { return sd_listen_fds_with_names(1, names); }

int usher_journal_send(const uint8_t *bytes, const size_t *lengths, size_t count) {
  struct iovec *fields = calloc(count, sizeof *fields);
  if (fields == NULL) return -ENOMEM;
  for (size_t i = 0; i < count; i++) {
    fields[i] = (struct iovec){.iov_base = (void *)bytes, .iov_len = lengths[i]};
    bytes += lengths[i];
  }
  int result = sd_journal_sendv(fields, (int)count);
  free(fields);
  return result;
}
