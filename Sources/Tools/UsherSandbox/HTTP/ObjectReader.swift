/// Reads a JSON object member by member; every complaint names the member.
struct ObjectReader {
  private var rest: [String: JSON]
  /// Where the object stands in the body, like `verification.`.
  private let place: String

  /// - Parameter place: The object's own name, with dots; empty for the body.
  init(_ json: JSON?, at place: String = "") throws(Refusal) {
    guard case .object(let members)? = json else {
      throw Refusal(
        "invalid_request", "\(place.isEmpty ? "the body" : place) is not a JSON object")
    }
    rest = members
    self.place = place.isEmpty ? "" : place + "."
  }

  /// A member as it is; nil where it is not there.
  mutating func take(_ name: String) -> JSON? { rest.removeValue(forKey: name) }

  /// A text of at least one character; nil where it is not there.
  mutating func text(_ name: String, limit: Int = 256) throws(Refusal) -> String? {
    guard let json = take(name) else { return nil }
    guard let text = json.text, !text.isEmpty, text.utf8.count <= limit else {
      throw complaint(name, "is not a text of 1 to \(limit) characters")
    }
    return text
  }

  mutating func requiredText(_ name: String, limit: Int = 256) throws(Refusal) -> String {
    guard let text = try text(name, limit: limit) else { throw complaint(name, "is missing") }
    return text
  }

  mutating func number(_ name: String, in range: ClosedRange<Int>) throws(Refusal) -> Int? {
    guard let json = take(name) else { return nil }
    guard case .integer(let number) = json, range.contains(number) else {
      throw complaint(name, "is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  mutating func flag(_ name: String) throws(Refusal) -> Bool? {
    guard let json = take(name) else { return nil }
    guard case .bool(let flag) = json else { throw complaint(name, "is not true or false") }
    return flag
  }

  mutating func object(_ name: String) throws(Refusal) -> ObjectReader? {
    guard let json = take(name) else { return nil }
    return try ObjectReader(json, at: place + name)
  }

  /// Throws where something is left that nobody asked for.
  func finish() throws(Refusal) {
    if let name = rest.keys.sorted().first {
      throw complaint(name.printable, "is not known here")
    }
  }

  func complaint(_ name: String, _ what: String) -> Refusal {
    Refusal("invalid_request", "\(place)\(name) \(what)")
  }
}

extension Call {
  /// The JSON object in the body.
  func postedObject() throws(Refusal) -> ObjectReader { try ObjectReader(postedJSON()) }

  /// The JSON in the body, which has to say that it is some.
  func postedJSON() throws(Refusal) -> JSON {
    guard contentType == "application/json" else {
      throw Refusal("invalid_request", "Content-Type must be application/json")
    }
    guard let json = try? JSON(parsing: body) else {
      throw Refusal("invalid_request", "the body is not JSON")
    }
    return json
  }
}
