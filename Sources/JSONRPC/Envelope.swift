/// A JSON-RPC call, as offsets into the line that contains it.
///
/// Every accessor takes the scanned line or a copy of it, so the caller must keep the line. A
/// shorter line traps.
package struct Envelope: Sendable, Hashable {
  /// The id of the call; nil for a notification. A call with the id `null` is a request, and `null`
  /// is echoed in its reply.
  private let idToken: Token?
  private let method: Text
  package let params: Params

  package enum Kind: Sendable, Hashable {
    case request
    /// The call never gets a reply.
    case notification
  }

  package enum Params: Sendable, Hashable {
    case none
    case object(Range<Int>)
    case array(Range<Int>)

    /// The offsets of the params in their line, including the brackets; nil if the call has none.
    package var range: Range<Int>? {
      switch self {
      case .none: nil
      case .object(let range), .array(let range): range
      }
    }
  }

  init(_ members: MessageMembers, in bytes: UnsafeRawBufferPointer) throws(Refusal) {
    try members.checkVersion(in: bytes)
    method = try members.methodText()
    params = try members.checkedParams()
    try members.checkID()
    idToken = members.id
  }

  package var kind: Kind { idToken == nil ? .notification : .request }

  /// The method's name.
  package func method(in line: UnsafeRawBufferPointer) -> String { line.string(method) }

  /// Returns whether the method's name is `name`, written without escapes.
  package func calls(_ name: StaticString, in line: UnsafeRawBufferPointer) -> Bool {
    !method.isEscaped && line.part(method.range).equals(name)
  }

  /// The bytes of the params, which are valid JSON; nil if there are none.
  package func paramsBytes(in line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    params.range.map { line.part($0) }
  }

  /// The offsets of the id in its line; nil for a notification.
  package var idRange: Range<Int>? { idToken?.range }

  /// The bytes of the id, to be echoed in the reply; nil for a notification.
  package func idBytes(in line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    idToken.map { line.part($0.range) }
  }

  /// A copy of the id that can be kept while the call runs; nil for a notification.
  package func id(in line: UnsafeRawBufferPointer) -> RequestID? {
    idToken.map { RequestID($0, in: line) }
  }
}

extension MessageMembers {
  func methodText() throws(Refusal) -> Text {
    guard let method else { throw refusal(.noMethod, at: nil) }
    guard case .string(let text) = method.kind else { throw refusal(.methodNotAString, at: method) }
    return text
  }

  func checkedParams() throws(Refusal) -> Envelope.Params {
    guard let params else { return .none }
    switch params.kind {
    case .object: return .object(params.range)
    case .array: return .array(params.range)
    case .string, .number, .bool, .null: throw refusal(.paramsNotStructured, at: params)
    }
  }
}
