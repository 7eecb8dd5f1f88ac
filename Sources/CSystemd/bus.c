#define _GNU_SOURCE
#include "CSystemd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <systemd/sd-bus.h>
#include <time.h>

static sd_bus *bus_of(usher_bus *bus) { return (sd_bus *)bus; }

static sd_bus_message *message_of(usher_message *message) { return (sd_bus_message *)message; }

static int start(sd_bus *bus, const char *address) {
  int result = sd_bus_set_address(bus, address);
  if (result >= 0) result = sd_bus_set_bus_client(bus, 1);
  // No peer passes file descriptors to this client.
  if (result >= 0) result = sd_bus_negotiate_fds(bus, 0);
  if (result >= 0) result = sd_bus_start(bus);
  return result;
}

int usher_bus_open(const char *address, usher_bus **bus) {
  sd_bus *opened = NULL;
  int result = address == NULL ? sd_bus_open_system(&opened) : sd_bus_new(&opened);
  if (result >= 0 && address != NULL) result = start(opened, address);
  if (result < 0) {
    sd_bus_close_unref(opened);
    return result;
  }
  *bus = (usher_bus *)opened;
  return 0;
}

void usher_bus_close(usher_bus *bus) { sd_bus_close_unref(bus_of(bus)); }

int usher_bus_call(usher_bus *bus, const char *destination, const char *path,
                   const char *interface, const char *member, const char *argument,
                   uint64_t *cookie) {
  sd_bus_message *call = NULL;
  int result =
      sd_bus_message_new_method_call(bus_of(bus), &call, destination, path, interface, member);
  if (result >= 0 && argument != NULL)
    result = sd_bus_message_append_basic(call, SD_BUS_TYPE_STRING, argument);
  if (result >= 0) result = sd_bus_send(bus_of(bus), call, cookie);
  sd_bus_message_unref(call);
  return result < 0 ? result : 0;
}

int usher_bus_process(usher_bus *bus, usher_message **message) {
  sd_bus_message *found = NULL;
  int result = sd_bus_process(bus_of(bus), &found);
  *message = (usher_message *)found;
  return result < 0 ? result : result > 0;
}

// Returns the time in milliseconds until sd-bus must be called again, for poll(2). `due` is the
// time that sd-bus reports, in microseconds of the monotonic clock.
static int sleep_until(uint64_t due) {
  if (due == UINT64_MAX) return INT_MAX;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t microseconds = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
  if (due <= microseconds) return 0;
  uint64_t milliseconds = (due - microseconds + 999) / 1000;
  return milliseconds > INT_MAX ? INT_MAX : (int)milliseconds;
}

int usher_bus_wait(usher_bus *bus, int wake, int milliseconds) {
  uint64_t due = UINT64_MAX;
  int events = sd_bus_get_events(bus_of(bus));
  int fd = sd_bus_get_fd(bus_of(bus));
  int result = sd_bus_get_timeout(bus_of(bus), &due);
  if (events < 0) return events;
  if (fd < 0) return fd;
  if (result < 0) return result;
  struct pollfd watched[] = {{.fd = fd, .events = (short)events}, {.fd = wake, .events = POLLIN}};
  int limit = sleep_until(due);
  if (poll(watched, 2, limit < milliseconds ? limit : milliseconds) < 0 && errno != EINTR)
    return -errno;
  return 0;
}

void usher_message_free(usher_message *message) { sd_bus_message_unref(message_of(message)); }

uint64_t usher_message_answers(usher_message *message) {
  uint64_t cookie = 0;
  return sd_bus_message_get_reply_cookie(message_of(message), &cookie) < 0 ? 0 : cookie;
}

const char *usher_message_error(usher_message *message, const char **text) {
  const sd_bus_error *error = sd_bus_message_get_error(message_of(message));
  if (error == NULL) return NULL;
  *text = error->message;
  return error->name;
}

int usher_message_is_signal(usher_message *message, const char *sender, const char *path,
                            const char *interface, const char *member) {
  sd_bus_message *signal = message_of(message);
  if (sd_bus_message_is_signal(signal, interface, member) <= 0) return 0;
  const char *signal_sender = sd_bus_message_get_sender(signal);
  const char *signal_path = sd_bus_message_get_path(signal);
  return signal_sender != NULL && strcmp(signal_sender, sender) == 0 && signal_path != NULL &&
         strcmp(signal_path, path) == 0;
}

const char *usher_message_sender(usher_message *message) {
  return sd_bus_message_get_sender(message_of(message));
}

static int begin(sd_bus_message *message) {
  int result = sd_bus_message_rewind(message, 1);
  return result < 0 ? result : 0;
}

// Returns 0 or -errno for the last read of a body. sd-bus returns 0 at the end of the body, which
// means that the body is too short.
static int end(int result) { return result == 0 ? -EBADMSG : result < 0 ? result : 0; }

int usher_message_read_string(usher_message *message, const char **value) {
  sd_bus_message *body = message_of(message);
  int result = begin(body);
  if (result < 0) return result;
  const int is_path = sd_bus_message_has_signature(body, "o") > 0;
  if (!is_path && sd_bus_message_has_signature(body, "s") <= 0) return -EBADMSG;
  const char type = is_path ? SD_BUS_TYPE_OBJECT_PATH : SD_BUS_TYPE_STRING;
  return end(sd_bus_message_read_basic(body, type, value));
}

int usher_message_read_string_and_flag(usher_message *message, const char **value, int *flag) {
  sd_bus_message *body = message_of(message);
  int result = begin(body);
  if (result < 0) return result;
  if (sd_bus_message_has_signature(body, "sb") <= 0) return -EBADMSG;
  result = end(sd_bus_message_read_basic(body, SD_BUS_TYPE_STRING, value));
  return result < 0 ? result : end(sd_bus_message_read_basic(body, SD_BUS_TYPE_BOOLEAN, flag));
}

int usher_message_read_strings(usher_message *message, char ***values) {
  sd_bus_message *body = message_of(message);
  int result = begin(body);
  if (result < 0) return result;
  if (sd_bus_message_has_signature(body, "as") <= 0) return -EBADMSG;
  result = sd_bus_message_read_strv(body, values);
  if (result < 0) return result;
  // sd-bus may return an empty array as NULL.
  if (*values == NULL) *values = calloc(1, sizeof **values);
  return *values == NULL ? -ENOMEM : 0;
}

int usher_eventfd(void) {
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}
