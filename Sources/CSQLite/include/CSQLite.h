// The SQLite function that Swift cannot call directly, because sqlite3_db_config(3) is variadic.
#pragma once

// Makes a connection run no triggers, read no views and refuse SQL that can corrupt the database
// file. `database` is a sqlite3 *. Returns SQLite's result code.
int usher_sqlite_harden(void *database);
