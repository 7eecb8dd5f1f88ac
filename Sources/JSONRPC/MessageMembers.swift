/// The members that JSON-RPC defines for a message, as one message has them; not validated yet.
struct MessageMembers {
  /// The offset in the line at which the message's object begins.
  let start: Int
  var version: Token?
  var id: Token?
  var method: Token?
  var params: Token?
  var result: Token?
  var error: Token?

  /// Reads the message at the reader's current position. Members with other names are ignored.
  init(_ reader: inout Reader) throws(JSONSyntaxError) {
    start = reader.at
    try reader.enterContainer()
    var names = MemberNames()
    while let name = try reader.nextMember(&names) {
      let value = try reader.value()
      switch MessageMembers.known(name, in: reader.bytes) {
      case .version: version = value
      case .id: id = value
      case .method: method = value
      case .params: params = value
      case .result: result = value
      case .error: error = value
      case nil: break
      }
    }
  }

  private enum Known {
    case version
    case id
    case method
    case params
    case result
    case error
  }

  private static func known(_ name: Text, in bytes: UnsafeRawBufferPointer) -> Known? {
    if name.isEscaped { return bytes.unescaped(name).withUnsafeBytes { known($0) } }
    return known(bytes.part(name.range))
  }

  private static func known(_ name: UnsafeRawBufferPointer) -> Known? {
    switch name.count {
    case 2: name.equals("id") ? .id : nil
    case 5: name.equals("error") ? .error : nil
    case 6:
      if name.equals("method") {
        .method
      } else if name.equals("params") {
        .params
      } else {
        name.equals("result") ? .result : nil
      }
    case 7: name.equals("jsonrpc") ? .version : nil
    default: nil
    }
  }

  /// The id that an error reply echoes; nil if the message's id has a type that is not permitted,
  /// or is too long.
  var readableID: Token? {
    guard let id, id.range.count <= RequestID.maxBytes else { return nil }
    switch id.kind {
    case .string, .number, .null: return id
    case .bool, .object, .array: return nil
    }
  }

  func checkVersion(in bytes: UnsafeRawBufferPointer) throws(Refusal) {
    guard case .string(let text) = version?.kind,
      text.isEscaped ? bytes.string(text) == "2.0" : bytes.part(text.range).equals("2.0")
    else { throw refusal(.version, at: version) }
  }

  func checkID() throws(Refusal) {
    guard let id, readableID == nil else { return }
    let isTooLong = id.range.count > RequestID.maxBytes
    throw refusal(isTooLong ? .idTooLong : .idOfWrongType, at: id)
  }

  func refusal(_ reason: Refusal.Reason, at token: Token?) -> Refusal {
    Refusal(reason, at: token?.range.lowerBound ?? start, id: readableID)
  }
}

extension UnsafeRawBufferPointer {
  func equals(_ word: StaticString) -> Bool {
    guard count == word.utf8CodeUnitCount else { return false }
    for index in 0..<count where self[index] != word.utf8Start[index] { return false }
    return true
  }
}
