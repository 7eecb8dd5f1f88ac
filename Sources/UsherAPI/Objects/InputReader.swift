package import JSONRPC
import UsherCore

/// Reads the members of a flow's input one by one. ``finish()`` then refuses the members that were
/// not read.
struct InputReader {
  private var unread: [String: JSONValue]

  init(_ json: JSONValue) throws(UsherError) {
    guard case .object(let members) = json else {
      throw UsherError(.invalidInput, "input is not an object", detail: .init(field: "input"))
    }
    unread = members
  }

  func has(_ name: String) -> Bool { unread[name] != nil }

  mutating func kind() throws(UsherError) -> Step.Kind {
    guard let kind = Step.Kind(rawValue: try requiredText("type")) else {
      throw wrong("type", "is not the type of a step")
    }
    return kind
  }

  mutating func text(_ name: String) throws(UsherError) -> String? {
    guard let value = unread.removeValue(forKey: name) else { return nil }
    guard case .string(let text) = value else { throw wrong(name, "is not a string") }
    return text
  }

  mutating func requiredText(_ name: String) throws(UsherError) -> String {
    guard let text = try text(name) else { throw wrong(name, "is missing") }
    return text
  }

  mutating func secret(_ name: String) throws(UsherError) -> Secret {
    Secret(try requiredText(name))
  }

  /// Returns whether a member is `true`; `false` and a missing member mean the same.
  mutating func flag(_ name: String) throws(UsherError) -> Bool {
    guard let value = unread.removeValue(forKey: name) else { return false }
    guard case .bool(let flag) = value else { throw wrong(name, "is not true or false") }
    return flag
  }

  mutating func texts(_ name: String) throws(UsherError) -> [String] {
    guard let value = unread.removeValue(forKey: name) else { throw wrong(name, "is missing") }
    guard case .array(let values) = value else { throw wrong(name, "is not an array") }
    var texts: [String] = []
    for (index, value) in values.enumerated() {
      guard case .string(let text) = value else {
        throw wrong("\(name).\(index)", "is not a string")
      }
      texts.append(text)
    }
    return texts
  }

  /// Returns the members of the object `name` as texts. If the object is missing, returns `absent`,
  /// or throws if that is nil.
  ///
  /// - Parameter ignoresNull: Whether a member that is null counts as absent.
  mutating func secrets(
    _ name: String, or absent: [String: Secret]?, acceptsNumbers: Bool = false,
    ignoresNull: Bool = false
  ) throws(UsherError) -> [String: Secret] {
    guard let value = unread.removeValue(forKey: name) else {
      guard let absent else { throw wrong(name, "is missing") }
      return absent
    }
    guard case .object(let members) = value else { throw wrong(name, "is not an object") }
    var secrets: [String: Secret] = [:]
    for (key, value) in members.sorted(by: { $0.key < $1.key }) {
      if ignoresNull, value.isNull { continue }
      guard let text = acceptsNumbers ? value.textOrNumber : value.stringValue else {
        throw wrong("\(name).\(key)", "is not a string\(acceptsNumbers ? " or number" : "")")
      }
      secrets[key] = Secret(text)
    }
    return secrets
  }

  /// Returns the text of `member`, which must be the only member of the object `name`.
  mutating func onlyText(_ member: String, of name: String) throws(UsherError) -> String {
    let members = try secrets(name, or: nil)
    if let unexpected = members.keys.filter({ $0 != member }).min() {
      throw wrong("\(name).\(unexpected)", "is not a member of this input")
    }
    guard let value = members[member] else { throw wrong("\(name).\(member)", "is missing") }
    return value.revealed()
  }

  func finish() throws(UsherError) {
    if let unexpected = unread.keys.min() {
      throw wrong(unexpected, "is not a member of this input")
    }
  }

  func wrong(_ field: String, _ what: String) -> UsherError {
    UsherError(.invalidInput, "input.\(field) \(what)", detail: .init(field: "input.\(field)"))
  }
}

extension JSONValue {
  /// The text of a string or number. A whole number has no fraction: 900 also for 900.0.
  package var textOrNumber: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): "\(number)"
    case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    case .null, .bool, .array, .object: nil
    }
  }
}
