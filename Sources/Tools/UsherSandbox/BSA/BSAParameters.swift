import FoundationEssentials

/// The parameters of a request: in the query for `GET` and `DELETE`, else in a JSON body.
///
/// Unknown parameters are ignored.
struct BSAParameters {
  private enum Source {
    case query(Form)
    case body([String: JSON])
  }

  private let source: Source
  /// The holder of the client key in the request.
  let client: BSAClient

  /// Throws 2002 if the parameters are unreadable, 2000 if the client key is not of `clients`.
  init(_ call: EndpointCall, for clients: [BSAClient] = [.app]) throws(BSARefusal) {
    let source = try Self.source(of: call)
    guard let client = BSAClient(key: Self.value("clientKey", in: source)?.text),
      clients.contains(client)
    else { throw .clientKey }
    self.source = source
    self.client = client
  }

  private static func source(of call: EndpointCall) throws(BSARefusal) -> Source {
    switch call.method {
    case .get, .delete:
      guard let form = try? call.queryForm() else {
        throw .parameter("the query", "is malformed or repeats a parameter")
      }
      return .query(form)
    case .post, .put, .patch:
      guard call.contentType == "application/json",
        case .object(let members)? = try? JSON(parsing: call.body)
      else { throw .parameter("the body", "is not a JSON object of the type application/json") }
      return .body(members)
    }
  }

  private static func value(_ name: String, in source: Source) -> JSON? {
    switch source {
    case .query(let form): form[name].map { .string($0) }
    case .body(let members): members[name] == .null ? nil : members[name]
    }
  }

  private func value(_ name: String) -> JSON? { Self.value(name, in: source) }

  func has(_ name: String) -> Bool { value(name) != nil }

  /// Returns a string parameter; nil if it is missing or empty.
  func text(_ name: String, limit: Int = 256) throws(BSARefusal) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.text, text.utf8.count <= limit else {
      throw .parameter(name, "is not a string of at most \(limit) bytes")
    }
    return text.isEmpty ? nil : text
  }

  func required(_ name: String, limit: Int = 256) throws(BSARefusal) -> String {
    guard let text = try text(name, limit: limit) else { throw .parameter(name, "is missing") }
    return text
  }

  /// Returns a parameter that must be one of the given words.
  func choice(_ name: String, of words: [String]) throws(BSARefusal) -> String {
    let text = try required(name)
    guard words.contains(text) else {
      throw .parameter(name, "must be \(words.joined(separator: " or "))")
    }
    return text
  }

  func flag(_ name: String) throws(BSARefusal) -> Bool {
    guard let value = value(name) else { throw .parameter(name, "is missing") }
    guard case .bool(let flag) = value else { throw .parameter(name, "is not true or false") }
    return flag
  }

  /// Whether the parameter is present and `true`, which is an agreement.
  func isTrue(_ name: String) -> Bool { value(name) == true }

  /// Returns `authType`, given as a number or as text; throws 3000 if it is unknown.
  func authType() throws(BSARefusal) -> MemberAuthType {
    let type: MemberAuthType? =
      switch value("authType") {
      case nil: throw .parameter("authType", "is missing")
      case .integer(let number): MemberAuthType(rawValue: number)
      case .string(let text): MemberAuthType.allCases.first { "\($0.rawValue)" == text }
      default: nil
      }
    guard let type else { throw .authType }
    return type
  }

  /// Returns the UUID in `deviceId` in lower case; throws 3007 if it is not a UUID.
  func deviceID() throws(BSARefusal) -> String {
    guard let id = UUID(uuidString: try required("deviceId")) else { throw .deviceIDShape }
    return id.uuidString.lowercased()
  }

  func userKey() throws(BSARefusal) -> String {
    let key = try required("userKey", limit: 64)
    guard key.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
      throw .parameter("userKey", "must consist of printable ASCII characters without spaces")
    }
    return key
  }

  func contact(_ kind: MemberContact.Kind, _ name: String) throws(BSARefusal) -> MemberContact {
    let text = try required(name)
    guard let contact = MemberContact(kind, text) else {
      throw .parameter(name, "is not a valid \(kind == .email ? "e-mail address" : "phone number")")
    }
    return contact
  }

  /// Returns the kind for `CMMDUP001` or `CMMDUP002`.
  func kind(_ name: String) throws(BSARefusal) -> MemberContact.Kind {
    let word = try choice(name, of: MemberContact.Kind.allCases.map(\.rawValue))
    guard let kind = MemberContact.Kind(rawValue: word) else {
      throw .parameter(name, "is unknown")
    }
    return kind
  }
}
