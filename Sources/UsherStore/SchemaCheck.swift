import Crypto
import FoundationEssentials
import GRDB
import UsherCore

/// The content of `sqlite_schema`, SQLite's list of tables, indexes, triggers and views.
struct SchemaListing {
  private let objects: [SchemaObject]

  init(of db: Database) throws {
    let rows = try Row.fetchCursor(
      db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name, type")
    var objects: [SchemaObject] = []
    while let row = try rows.next() { objects.append(try SchemaObject(row)) }
    self.objects = objects
  }

  /// The SHA-256 of the listing, in Base64.
  var digest: String {
    var writer = ByteWriter()
    for object in objects { object.write(to: &writer) }
    return Data(SHA256.hash(data: writer.bytes)).base64EncodedString()
  }

  func hasTable(_ name: String) -> Bool {
    objects.contains { $0.type == "table" && $0.name == name }
  }

  /// Returns the first object, by name, that differs from a version of usherd's schema or is listed
  /// twice, otherwise the first one that is missing; nil if the schema is exactly that version.
  ///
  /// The check is needed because a foreign trigger could undo a change that was acknowledged. If an
  /// index is listed twice, SQLite uses the last one, which may be empty.
  func foreignObject(version: Int) throws -> SchemaObject? {
    if version == StoreSchema.version, digest == StoreSchema.digest { return nil }
    let expected = try DatabaseQueue()
    defer { try? expected.close() }
    let released = try expected.writeWithoutTransaction { db in
      try StoreSchema.create(version, in: db)
      return try SchemaListing(of: db)
    }
    var rest = released.objects
    for object in objects {
      guard let index = rest.firstIndex(of: object) else { return object }
      rest.remove(at: index)
    }
    return rest.first
  }
}

/// A table, index, trigger or view of the database.
struct SchemaObject: Equatable {
  let type: String
  let name: String
  private let table: String
  /// The SQL text that created the object; nil for an index that SQLite creates for a constraint.
  private let sql: String?

  fileprivate init(_ row: Row) throws {
    var columns = Columns(row)
    type = try columns.next()
    name = try columns.next()
    table = try columns.next()
    sql = try columns.nextOrNil()
  }

  fileprivate func write(to writer: inout ByteWriter) {
    writer.append(type)
    writer.append(name)
    writer.append(table)
    writer.append(sql)
  }
}
