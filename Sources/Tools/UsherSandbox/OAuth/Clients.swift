/// A program that is registered with the provider.
package struct Client: Sendable, Hashable, Codable {
  package var id: String
  package var name: String
  /// The client secret; nil for a public client (RFC 6749 §2.1).
  package var secret: String?
  package var redirectURIs: [String]
  /// How the client authenticates itself by a certificate; nil if it does not.
  package var certificate: CertificateMethod?

  /// A method of RFC 8705 §2.
  package enum CertificateMethod: String, Sendable, Codable {
    /// By a certificate of the sandbox's authority, with the client id as the common name of the
    /// subject.
    case tlsClientAuth = "tls_client_auth"
    /// By a certificate that is in the client's key set.
    case selfSignedTLSClientAuth = "self_signed_tls_client_auth"
  }

  package init(
    id: String, name: String, secret: String? = nil, redirectURIs: [String] = Self.loopback,
    certificate: CertificateMethod? = nil
  ) {
    self.id = id
    self.name = name
    self.secret = secret
    self.redirectURIs = redirectURIs
    self.certificate = certificate
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(String.self, forKey: .id)
    name = try container.decodeIfPresent(String.self, forKey: .name) ?? id
    secret = try container.decodeIfPresent(String.self, forKey: .secret)
    redirectURIs =
      try container.decodeIfPresent([String].self, forKey: .redirectURIs) ?? Self.loopback
    certificate = try container.decodeIfPresent(CertificateMethod.self, forKey: .certificate)
  }

  /// Redirect URIs on loopback, which are accepted with any port.
  package static let loopback = [
    "http://127.0.0.1/callback", "http://[::1]/callback", "http://127.0.0.1/callback/work",
  ]

  package static let standard = [
    Client(id: "usher", name: "usherd on this machine"),
    Client(
      id: "usher-confidential", name: "usherd with a client secret",
      secret: "s3cret:with/odd+chars"),
    Client(id: "acme-oauth", name: "Acme with Truecaller's newer SDK"),
    Client(id: "usher-tls", name: "usherd with a certificate", certificate: .tlsClientAuth),
    Client(
      id: "usher-self-signed", name: "usherd with a certificate of its own",
      certificate: .selfSignedTLSClientAuth),
  ]

  /// Whether the redirect URI equals a registered one. The comparison is exact, but the port of a
  /// loopback IP literal is ignored (RFC 8252 §7.3, RFC 9700 §2.1), and that of `localhost` for a
  /// client that has registered it, as at Microsoft.
  package func allowsRedirect(to uri: String) -> Bool {
    redirectURIs.contains { registered in
      if registered == uri { return true }
      guard let known = LoopbackURI(registered) else { return false }
      return known == LoopbackURI(uri)
    }
  }
}

/// `http://127.0.0.1:PORT/…`, or the same with `[::1]` or `localhost`, compared without the port.
private struct LoopbackURI: Equatable {
  var host: Substring
  var rest: Substring

  init?(_ uri: String) {
    guard uri.hasPrefix("http://") else { return nil }
    let tail = uri.dropFirst("http://".count)
    guard let host = ["127.0.0.1", "[::1]", "localhost"].first(where: tail.hasPrefix) else {
      return nil
    }
    let afterHost = tail.dropFirst(host.count)
    self.host = tail.prefix(host.count)
    rest = afterHost
    if afterHost.hasPrefix(":") {
      let digits = afterHost.dropFirst().prefix { $0.isASCII && $0.isNumber }
      guard let port = UInt16(digits), port > 0 else { return nil }
      rest = afterHost.dropFirst(1 + digits.count)
    }
    guard rest.hasPrefix("/"), !rest.contains("#") else { return nil }
  }
}
