// What Swift cannot call of SQLite by itself: sqlite3_db_config(3) is variadic.
#pragma once

// Makes a connection run no trigger and read no view, and refuse SQL that damages the file on purpose.
// `database` is a sqlite3 *. SQLite's result code.
int usher_sqlite_harden(void *database);
