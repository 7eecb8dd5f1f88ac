public import JSONRPC
public import UsherCore

/// Decodes parameters strictly: they must be an object, and unknown members are refused.
public enum StrictDecoding {
  /// Decodes parameters of a call or of a flow.
  ///
  /// - Parameters:
  ///   - value: The parameters; nil if the request has none, which means the same as an empty
  ///     object.
  ///   - schema: The schema of the type, from ``schema(of:)``.
  ///   - prefix: The dotted path of the parameters for the error's `field`; empty for the
  ///     parameters of a call.
  /// - Throws: `invalidParams` with the dotted path of the invalid value as `field`.
  public static func decode<T: Decodable>(
    _ type: T.Type, from value: JSONValue?, schema: Schema, prefix: String = ""
  ) throws(UsherError) -> T {
    let value = value ?? .object([:])
    guard case .object = value else {
      throw wrong(prefix, [], "must be an object: parameters are passed by name")
    }
    if let mismatch = schema.mismatch(in: value) {
      throw wrong(prefix, mismatch.path, mismatch.what)
    }
    do {
      return try JSONValueDecoder.decode(type, from: value)
    } catch let error as DecodingError {
      throw mistake(error, prefix)
    } catch {
      throw UsherError(.invalidParams, "params cannot be decoded", cause: error)
    }
  }

  /// Returns the schema of a type, for ``decode(_:from:schema:prefix:)``.
  public static func schema(of type: any Decodable.Type) -> Schema { SchemaReader.schema(of: type) }

  /// Returns the schema of a type with descriptions, for display. It decodes the same values as
  /// ``schema(of:)``, but takes more memory.
  public static func documentedSchema(of type: any Decodable.Type) -> Schema {
    SchemaReader.schema(of: type, isDocumented: true)
  }

  private static func mistake(_ error: DecodingError, _ prefix: String) -> UsherError {
    switch error {
    case .keyNotFound(let key, let context):
      wrong(prefix, names(context.codingPath + [key]), "is missing")
    case .valueNotFound(_, let context):
      wrong(prefix, names(context.codingPath), "must not be null")
    case .typeMismatch(let type, let context):
      wrong(prefix, names(context.codingPath), "must be \(typeName(for: type))")
    case .dataCorrupted(let context):
      wrong(prefix, names(context.codingPath), "has a value that is not allowed")
    @unknown default: UsherError(.invalidParams, "params cannot be decoded", cause: error)
    }
  }

  /// Returns the parts of a coding path. An element of an array has its index as its name.
  private static func names(_ path: [any CodingKey]) -> [String] {
    path.map { key in key.intValue.map { "\($0)" } ?? key.stringValue }
  }

  private static func typeName(for type: Any.Type) -> String {
    switch type {
    case is String.Type: "a string"
    case is Bool.Type: "true or false"
    case let integer as any FixedWidthInteger.Type: typeName(forInteger: integer)
    case is Double.Type: "a number"
    case is [Any].Type: "an array"
    case is [String: Any].Type: "an object"
    default: "of another type"
    }
  }

  private static func typeName<I: FixedWidthInteger>(forInteger type: I.Type) -> String {
    I.bitWidth < 64 ? "an integer from \(I.min) to \(I.max)" : "an integer"
  }

  private static func wrong(_ prefix: String, _ path: [String], _ what: String) -> UsherError {
    let names = prefix.isEmpty ? path : [prefix] + path
    let field = names.isEmpty ? "params" : names.joined(separator: ".")
    return UsherError(.invalidParams, "\(field) \(what)", detail: .init(field: field))
  }
}
