/// What a test may change about a backend while it runs: a flat object of settings with defaults.
package protocol BackendSettings: Sendable, Codable {
  /// The defaults. Every setting encodes, so that its name is known.
  init()

  /// Why these settings cannot be, or nil.
  ///
  /// - Parameter changes: What was asked for, of which everything at the top is known to exist.
  func objection(to changes: [String: JSON]) -> String?
}

extension BackendSettings {
  /// What a lifetime may be.
  package static var seconds: ClosedRange<Int> { 0...1_000_000_000 }

  /// These settings with some of them changed; `null` means the default.
  ///
  /// Throws a refusal that names an unknown setting or a value that does not fit.
  package func changed(by changes: [String: JSON]) throws(Refusal) -> Self {
    let defaults = try Self.members(of: Self())
    var members = try Self.members(of: self)
    for (name, value) in changes {
      guard let standard = defaults[name] else {
        throw Refusal("invalid_request", "there is no setting \(name.printable)")
      }
      members[name] = value == .null ? standard : value
    }
    let settings: Self
    do {
      settings = try JSON.object(members).decoded(as: Self.self)
    } catch {
      throw Refusal("invalid_request", "a setting is of the wrong type: \(error.settingPath)")
    }
    if let objection = settings.objection(to: changes) {
      throw Refusal("invalid_request", objection)
    }
    return settings
  }

  private static func members(of settings: Self) throws(Refusal) -> [String: JSON] {
    guard case .object(let members)? = try? JSON(encoding: settings) else {
      throw Refusal("server_error", "the settings do not encode", status: 500)
    }
    return members
  }
}

extension Call {
  /// The settings that the body asks for.
  func settingChanges() throws(Refusal) -> [String: JSON] {
    guard case .object(let changes)? = try? JSON(parsing: body) else {
      throw Refusal("invalid_request", "the body is not a JSON object")
    }
    return changes
  }
}

extension Error {
  /// Where in a JSON text a decoding went wrong.
  fileprivate var settingPath: String {
    guard let error = self as? DecodingError else { return "unknown" }
    let context =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context),
        .keyNotFound(_, let context), .dataCorrupted(let context):
        context
      @unknown default:
        DecodingError.Context(codingPath: [], debugDescription: "")
      }
    return context.codingPath.map(\.stringValue).joined(separator: ".")
  }
}
