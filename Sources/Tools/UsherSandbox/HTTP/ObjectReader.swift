/// Reads a JSON object member by member. Each error names the member.
struct ObjectReader {
  private var rest: [String: JSON]
  /// The prefix of member names in errors, like `verification.`; empty for the body.
  private let place: String

  /// - Parameter place: The dotted name of the object within the body; empty for the body itself.
  init(_ json: JSON?, at place: String = "") throws(OAuthError) {
    guard case .object(let members)? = json else {
      throw OAuthError(
        "invalid_request", "\(place.isEmpty ? "the body" : place) is not a JSON object")
    }
    rest = members
    self.place = place.isEmpty ? "" : place + "."
  }

  /// Removes and returns a member; nil if it is missing.
  mutating func remove(_ name: String) -> JSON? { rest.removeValue(forKey: name) }

  /// Removes and returns a string of 1 to `limit` UTF-8 bytes; nil if the member is missing.
  mutating func text(_ name: String, limit: Int = 256) throws(OAuthError) -> String? {
    guard let json = remove(name) else { return nil }
    guard let text = json.text, !text.isEmpty, text.utf8.count <= limit else {
      throw invalid(name, "is not a string of 1 to \(limit) bytes")
    }
    return text
  }

  mutating func requiredText(_ name: String, limit: Int = 256) throws(OAuthError) -> String {
    guard let text = try text(name, limit: limit) else { throw invalid(name, "is missing") }
    return text
  }

  mutating func number(_ name: String, in range: ClosedRange<Int>) throws(OAuthError) -> Int? {
    guard let json = remove(name) else { return nil }
    guard case .integer(let number) = json, range.contains(number) else {
      throw invalid(name, "is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  mutating func flag(_ name: String) throws(OAuthError) -> Bool? {
    guard let json = remove(name) else { return nil }
    guard case .bool(let flag) = json else { throw invalid(name, "is not true or false") }
    return flag
  }

  mutating func object(_ name: String) throws(OAuthError) -> ObjectReader? {
    guard let json = remove(name) else { return nil }
    return try ObjectReader(json, at: place + name)
  }

  /// Throws if the object has a member that was not read.
  func finish() throws(OAuthError) {
    if let name = rest.keys.sorted().first {
      throw invalid(name.printable, "is not a known member")
    }
  }

  func invalid(_ name: String, _ what: String) -> OAuthError {
    OAuthError("invalid_request", "\(place)\(name) \(what)")
  }
}

extension EndpointCall {
  /// Reads the body as a JSON object.
  func postedObject() throws(OAuthError) -> ObjectReader { try ObjectReader(postedJSON()) }

  /// Reads the body as JSON. The media type must be `application/json`.
  func postedJSON() throws(OAuthError) -> JSON {
    guard contentType == "application/json" else {
      throw OAuthError("invalid_request", "Content-Type must be application/json")
    }
    guard let json = try? JSON(parsing: body) else {
      throw OAuthError("invalid_request", "the body is not JSON")
    }
    return json
  }
}
