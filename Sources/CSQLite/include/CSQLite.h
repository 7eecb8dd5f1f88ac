// Functions of SQLite that the store calls and GRDB does not have.
#pragma once

// Makes a connection run no triggers, read no views and refuse SQL that can corrupt the database
// file. `database` is a sqlite3 *. Returns SQLite's result code.
int usher_sqlite_harden(void *database);

// Returns 1 if SQLite opened the file of a connection for reading only, which it also does if the
// file cannot be opened for writing. `database` is a sqlite3 *.
int usher_sqlite_is_readonly(void *database);
