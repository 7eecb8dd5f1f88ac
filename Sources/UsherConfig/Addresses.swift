/// An address of a provider: https, or http on this machine's loopback only.
///
/// What a provider's own metadata names must also keep to ``OIDCSettings/flaw(ofDiscovered:)``.
package struct ProviderURL: CodedAsText, Hashable, Sendable {
  /// As it was written; it is never normalised.
  package let text: String
  /// Without brackets, in lower case.
  package let host: String
  package let port: Int
  package let isSecure: Bool
  package let hasQuery: Bool

  package init(setting text: String) throws(Refusal) {
    let parts = try URLParts(text)
    guard parts.scheme == "https" || parts.isLoopback else {
      throw Refusal("must be https; http is for loopback hosts only")
    }
    self.text = text
    host = parts.host
    isSecure = parts.scheme == "https"
    port = parts.port ?? (isSecure ? 443 : 80)
    hasQuery = parts.query != nil
  }

  package var settingText: String { text }

  package var reach: HostReach { HostReach(host: host) }

  /// `https://`, a host that is known to be one, and a path that begins with a slash or is empty.
  init(host: String, path: String = "") {
    text = "https://\(host)\(path)"
    self.host = host
    port = 443
    isSecure = true
    hasQuery = false
  }

  static let blank = ProviderURL()

  private init() {
    text = ""
    host = ""
    port = 0
    isSecure = true
    hasQuery = false
  }
}

/// `127.0.0.1:PORT`: where the daemon listens for others on this machine.
package struct LoopbackAddress: CodedAsText, Hashable, Sendable {
  /// An IP literal without brackets.
  package let host: String
  package let port: Int

  package init(setting text: String) throws(Refusal) {
    guard let parts = try? URLParts("http://" + text), parts.isLoopback, parts.host != "localhost",
      let port = parts.port, parts.path.isEmpty, parts.query == nil
    else { throw Refusal("must be \"127.0.0.1:PORT\" or \"[::1]:PORT\"") }
    host = parts.host
    self.port = port
  }

  package var settingText: String { "\(host.bracketed):\(port)" }
}

/// `http://host:port` of a proxy.
package struct ProxyURL: CodedAsText, Hashable, Sendable {
  /// Without brackets, in lower case.
  package let host: String
  package let port: Int

  package init(setting text: String) throws(Refusal) {
    let parts = try URLParts(text)
    guard parts.scheme == "http", parts.path.isEmpty || parts.path == "/", parts.query == nil else {
      throw Refusal("must be \"http://host:port\"")
    }
    host = parts.host
    port = parts.port ?? 80
  }

  package var settingText: String { "http://\(host.bracketed):\(port)" }
}

/// Where the browser comes back to (RFC 8252 §7.3).
package enum Redirect: CodedAsText, Hashable, Sendable {
  /// `http://127.0.0.1` with a port and path of the moment.
  case loopback
  /// Always the same, for providers that want it registered.
  case fixed(FixedRedirect)

  package init(setting text: String) throws(Refusal) {
    self = text == "loopback" ? .loopback : .fixed(try FixedRedirect(text))
  }

  package var settingText: String {
    switch self {
    case .loopback: "loopback"
    case .fixed(let fixed): fixed.text
    }
  }
}

/// A redirect address on this machine with a port of its own.
package struct FixedRedirect: Hashable, Sendable {
  /// As it was written and is registered at the provider.
  package let text: String
  /// An IP literal without brackets.
  package let host: String
  package let port: Int
  /// From its first slash on.
  package let path: String

  init(_ text: String) throws(Refusal) {
    let form = "must be \"loopback\" or \"http://127.0.0.1:PORT/PATH\""
    guard let parts = try? URLParts(text), parts.scheme == "http", parts.query == nil,
      parts.isLoopback, parts.host != "localhost", let port = parts.port, !parts.path.isEmpty
    else { throw Refusal(form) }
    self.text = text
    host = parts.host
    self.port = port
    path = parts.path
  }
}

extension String {
  fileprivate var bracketed: String { contains(":") ? "[\(self)]" : self }
}
