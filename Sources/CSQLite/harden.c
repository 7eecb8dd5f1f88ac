#include "CSQLite.h"

#include <sqlite3.h>

int usher_sqlite_harden(void *database) {
  static const struct {
    int option, value;
  } settings[] = {
      {SQLITE_DBCONFIG_DEFENSIVE, 1},
      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
      {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
  };
  for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
    int found = -1;
    int result = sqlite3_db_config(database, settings[i].option, settings[i].value, &found);
    if (result != SQLITE_OK) return result;
    if (found != settings[i].value) return SQLITE_ERROR;
  }
  return SQLITE_OK;
}

int usher_sqlite_is_readonly(void *database) { return sqlite3_db_readonly(database, "main"); }
