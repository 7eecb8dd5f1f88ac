/// Settings of a backend that tests may change while it runs. They encode as a flat JSON object.
package protocol BackendSettings: Sendable, Codable {
  /// Creates the default settings. Each setting must be encoded even if it has its default value,
  /// since a change is refused if its name is not among the encoded defaults.
  init()

  /// Returns why these settings are invalid, or nil if they are valid.
  ///
  /// - Parameter changes: The requested changes. Their top-level names have been checked to exist.
  func validationError(for changes: [String: JSON]) -> String?
}

extension BackendSettings {
  /// The allowed range of a lifetime in seconds.
  package static var seconds: ClosedRange<Int> { 0...1_000_000_000 }

  /// Returns these settings with some of them changed; `null` restores a default.
  ///
  /// Throws a refusal that names the unknown setting or the invalid value.
  package func changed(
    by changes: [String: JSON], defaults: Self = Self()
  ) throws(OAuthError) -> Self {
    let defaults = try Self.members(of: defaults)
    var members = try Self.members(of: self)
    for (name, value) in changes {
      guard let standard = defaults[name] else {
        throw OAuthError("invalid_request", "there is no setting \(name.printable)")
      }
      members[name] = value == .null ? standard : value
    }
    let settings: Self
    do {
      settings = try JSON.object(members).decoded(as: Self.self)
    } catch {
      throw OAuthError("invalid_request", "a setting has the wrong type: \(error.settingPath)")
    }
    if let validationError = settings.validationError(for: changes) {
      throw OAuthError("invalid_request", validationError)
    }
    return settings
  }

  private static func members(of settings: Self) throws(OAuthError) -> [String: JSON] {
    guard case .object(let members)? = try? JSON(encoding: settings) else {
      throw OAuthError("server_error", "the settings cannot be encoded", status: 500)
    }
    return members
  }
}

/// A backend whose settings can be read, changed and reset by control calls.
protocol ConfigurableBackend: Actor {
  associatedtype Settings: BackendSettings

  var settings: Settings { get set }

  /// The settings that a reset restores.
  var defaultSettings: Settings { get }

  /// Replaces the settings, and all that depends on them.
  func apply(_ settings: Settings)
}

extension ConfigurableBackend {
  var defaultSettings: Settings { Settings() }

  func readSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors { .json(try JSON(encoding: settings)) }
  }

  func changeSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let changes = try call.settingChanges()
      apply(try settings.changed(by: changes, defaults: defaultSettings))
      return .json(try JSON(encoding: settings))
    }
  }

  func resetSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      apply(defaultSettings)
      return .json(try JSON(encoding: settings))
    }
  }
}

extension EndpointCall {
  /// Reads the requested changes of settings from the body.
  func settingChanges() throws(OAuthError) -> [String: JSON] {
    guard case .object(let changes)? = try? JSON(parsing: body) else {
      throw OAuthError("invalid_request", "the body is not a JSON object")
    }
    return changes
  }
}

extension Error {
  /// The path of the JSON member that failed to decode.
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
