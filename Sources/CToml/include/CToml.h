#ifndef USHER_CTOML_H
#define USHER_CTOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A position in a document, counted from 1; columns count characters. 0 means that there is no
/// position.
typedef struct {
  uint32_t line;
  uint32_t column;
} usher_toml_position;

typedef enum {
  USHER_TOML_TABLE,
  USHER_TOML_ARRAY,
  USHER_TOML_END,
  USHER_TOML_STRING,
  USHER_TOML_INTEGER,
  USHER_TOML_FLOAT,
  USHER_TOML_BOOLEAN,
  USHER_TOML_DATE,
} usher_toml_kind;

/// One event of the parser: a value, or the beginning or end of a table or array.
///
/// Pointers are valid only during the call that passes the event.
typedef struct {
  usher_toml_kind kind;
  bool has_key;
  const char *key;
  size_t key_length;
  usher_toml_position key_position;
  usher_toml_position position;
  const char *text;
  size_t text_length;
  int64_t integer;
  double real;
} usher_toml_event;

typedef struct {
  usher_toml_position position;
  char message[256];
} usher_toml_failure;

typedef void (*usher_toml_sink)(void *context, const usher_toml_event *event);

/// Parses a whole document and passes its values to `sink`, parents before children.
///
/// The first event begins the root table, the last one ends it. If the document is not valid TOML,
/// nothing is passed, the result is false and `failure` contains the cause and position. No C++
/// exception leaves this function. A line with more than 256 dots, and more than 16 nested values,
/// are refused, which bounds the stack usage.
bool usher_toml_read(const char *text, size_t length, usher_toml_sink sink, void *context,
                     usher_toml_failure *failure);

#ifdef __cplusplus
}
#endif

#endif
