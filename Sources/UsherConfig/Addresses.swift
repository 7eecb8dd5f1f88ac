/// A provider's URL: https, or http if the host is a loopback host.
///
/// A URL from a provider's metadata must also satisfy ``OIDCSettings/flaw(ofDiscovered:)``.
package struct ProviderURL: CodedAsText, Hashable, Sendable {
  /// The URL as it was written; it is never normalised.
  package let text: String
  /// The host of the URL, in lower case and without brackets.
  package let host: String
  package let port: Int
  package let isSecure: Bool
  package let hasQuery: Bool
}

extension ProviderURL {
  package init(setting text: String) throws(SettingError) {
    let parts = try URLParts(text)
    guard parts.scheme == "https" || parts.isLoopback else {
      throw SettingError("must be https; http is for loopback hosts only")
    }
    self.text = text
    host = parts.host
    isSecure = parts.scheme == "https"
    port = parts.port ?? (isSecure ? 443 : 80)
    hasQuery = parts.query != nil
  }

  package var settingText: String { text }

  package var reach: HostReach { HostReach(host: host) }

  /// Why paths cannot be appended to this URL; nil if they can.
  var baseViolation: String? {
    hasQuery || text.hasSuffix("/") ? "must have no query and no trailing slash" : nil
  }

  /// Creates an https URL from a valid host and a path that is empty or begins with a slash.
  init(host: String, path: String = "") {
    self.init(
      text: "https://\(host)\(path)", host: host, port: 443, isSecure: true, hasQuery: false)
  }

  static let blank = ProviderURL(text: "", host: "", port: 0, isSecure: true, hasQuery: false)
}

/// The address of a listener that only programs on this machine can reach, such as
/// `127.0.0.1:8080`.
package struct LoopbackAddress: CodedAsText, Hashable, Sendable {
  /// The host of the listener: an IP literal without brackets.
  package let host: String
  package let port: Int

  package init(setting text: String) throws(SettingError) {
    guard let parts = try? URLParts("http://" + text), parts.isLoopback, parts.host != "localhost",
      let port = parts.port, parts.path.isEmpty, parts.query == nil
    else { throw SettingError("must be \"127.0.0.1:PORT\" or \"[::1]:PORT\"") }
    host = parts.host
    self.port = port
  }

  package var settingText: String { "\(host.bracketed):\(port)" }
}

/// The URL of an HTTP proxy: `http://host:port`.
package struct ProxyURL: CodedAsText, Hashable, Sendable {
  /// The host of the proxy, in lower case and without brackets.
  package let host: String
  package let port: Int

  package init(setting text: String) throws(SettingError) {
    let parts = try URLParts(text)
    guard parts.scheme == "http", parts.path.isEmpty || parts.path == "/", parts.query == nil else {
      throw SettingError("must be \"http://host:port\"")
    }
    host = parts.host
    port = parts.port ?? 80
  }

  package var settingText: String { "http://\(host.bracketed):\(port)" }
}

/// The redirect URI for the user's browser after a sign-in (RFC 8252 §7.3).
package enum Redirect: CodedAsText, Hashable, Sendable {
  /// `http://127.0.0.1` with a port and a path that the daemon chooses for each flow.
  case loopback
  /// The same with the host `localhost`, for providers that accept no other one, against RFC 8252
  /// §8.3. The daemon listens at `127.0.0.1`, to which `localhost` must lead.
  case localhost
  /// A URI without a port, as it is registered at a provider that lets the port vary (RFC 8252
  /// §7.3). The daemon chooses a port for each flow. With a path of its own for each provider, no
  /// provider can have the answer of another one delivered to it (RFC 9700 §4.4.2.2).
  case anyPort(PortlessRedirect)
  /// A constant URI, for providers that require a registered one.
  case fixed(FixedRedirect)

  package init(setting text: String) throws(SettingError) {
    switch text {
    case "loopback": self = .loopback
    case "localhost": self = .localhost
    default:
      if let portless = PortlessRedirect(text) {
        self = .anyPort(portless)
      } else {
        self = .fixed(try FixedRedirect(text))
      }
    }
  }

  /// The path of the URI.
  package var path: String {
    switch self {
    case .loopback, .localhost: "/callback"
    case .anyPort(let portless): portless.path
    case .fixed(let fixed): fixed.path
    }
  }

  package var settingText: String {
    switch self {
    case .loopback: "loopback"
    case .localhost: "localhost"
    case .anyPort(let portless): portless.text
    case .fixed(let fixed): fixed.text
    }
  }
}

/// A redirect URI on a loopback address without a port.
package struct PortlessRedirect: Hashable, Sendable {
  /// The URI as it was written, and as it is registered at the provider.
  package let text: String
  /// The address at which the daemon listens: an IP literal without brackets.
  package let host: String
  /// Whether the host of the URI is `localhost`.
  package let isLocalhost: Bool
  /// The path of the URI, which begins with a slash.
  package let path: String

  /// Creates the redirect; nil if the text has another form.
  init?(_ text: String) {
    guard let parts = try? URLParts(text), parts.scheme == "http", parts.query == nil,
      parts.isLoopback, parts.port == nil, !parts.path.isEmpty
    else { return nil }
    self.text = text
    isLocalhost = parts.host == "localhost"
    host = isLocalhost ? "127.0.0.1" : parts.host
    path = parts.path
  }
}

/// A redirect URI on a loopback address with a fixed port.
package struct FixedRedirect: Hashable, Sendable {
  /// The URI as it was written, and as it is registered at the provider.
  package let text: String
  /// The address at which the daemon listens: an IP literal without brackets.
  package let host: String
  /// Whether the host of the URI is `localhost`.
  package let isLocalhost: Bool
  package let port: Int
  /// The path of the URI, which begins with a slash; `/` for a URI without a path.
  package let path: String

  init(_ text: String) throws(SettingError) {
    let form =
      "must be \"loopback\", \"localhost\", \"http://127.0.0.1/PATH\" or "
      + "\"http://127.0.0.1:PORT/PATH\""
    guard let parts = try? URLParts(text), parts.scheme == "http", parts.query == nil,
      parts.isLoopback, let port = parts.port
    else { throw SettingError(form) }
    self.text = text
    isLocalhost = parts.host == "localhost"
    host = isLocalhost ? "127.0.0.1" : parts.host
    self.port = port
    path = parts.path.isEmpty ? "/" : parts.path
  }
}

extension String {
  fileprivate var bracketed: String { contains(":") ? "[\(self)]" : self }
}
