import Crypto
import FoundationEssentials
import GRDB
import UsherCore

/// What `sqlite_schema` lists: tables, indices, triggers and views.
struct SchemaListing {
  private let objects: [SchemaObject]

  init(of db: Database) throws {
    let rows = try Row.fetchCursor(
      db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name, type")
    var objects: [SchemaObject] = []
    while let row = try rows.next() { objects.append(try SchemaObject(row)) }
    self.objects = objects
  }

  /// The SHA-256 of all that is listed, as Base64.
  var digest: String {
    var writer = ByteWriter()
    for object in objects { object.write(to: &writer) }
    return Data(SHA256.hash(data: writer.bytes)).base64EncodedString()
  }

  func hasTable(_ name: String) -> Bool {
    objects.contains { $0.type == "table" && $0.name == name }
  }

  /// The first object, by name, that is not as a version of the schema has it; nil where all are.
  ///
  /// A trigger of somebody else's could undo a change that was acknowledged.
  func foreignObject(version: Int) throws -> SchemaObject? {
    if version == Schema.version, digest == Schema.digest { return nil }
    let expected = try DatabaseQueue()
    defer { try? expected.close() }
    let released = try expected.writeWithoutTransaction { db in
      try Schema.create(version, in: db)
      return try SchemaListing(of: db)
    }
    return Set(objects).symmetricDifference(released.objects)
      .min { ($0.name, $0.type) < ($1.name, $1.type) }
  }
}

/// One table, index, trigger or view.
struct SchemaObject: Hashable {
  let type: String
  let name: String
  private let table: String
  /// Nil for what SQLite makes by itself for a constraint.
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
