import GRDB
import UsherCore

/// One table, index, trigger or view, as `sqlite_schema` lists it.
struct SchemaObject: Hashable {
  let type: String
  let name: String
  private let table: String
  /// Nil for what SQLite makes by itself for a constraint.
  private let sql: String?

  private init(_ row: Row) throws {
    var columns = Columns(row)
    type = try columns.next()
    name = try columns.next()
    table = try columns.next()
    sql = try columns.nextOrNil()
  }

  static func all(in db: Database) throws -> Set<SchemaObject> {
    let rows = try Row.fetchAll(db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema")
    return Set(try rows.map(SchemaObject.init))
  }
}

extension Schema {
  /// The first object, by name, that is not as a version of the schema has it; nil where all are.
  ///
  /// A trigger of somebody else's could undo a change that was acknowledged.
  static func foreignObject(in db: Database, version: Int) throws -> SchemaObject? {
    let expected = try DatabaseQueue()
    defer { try? expected.close() }
    let objects = try expected.writeWithoutTransaction { db in
      try create(version, in: db)
      return try SchemaObject.all(in: db)
    }
    return try SchemaObject.all(in: db).symmetricDifference(objects)
      .min { ($0.name, $0.type) < ($1.name, $1.type) }
  }
}
