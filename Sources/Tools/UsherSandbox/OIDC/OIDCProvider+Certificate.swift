import FoundationEssentials

// Clients with certificates (RFC 8705).
extension OIDCBackend {
  /// Checks that the connection authenticates a client.
  func authenticateByCertificate(
    _ client: Client, _ method: Client.CertificateMethod, _ call: EndpointCall
  ) throws(OAuthError) {
    guard let presented = call.certificate else {
      throw .client("the client has presented no certificate; see mtls_endpoint_aliases")
    }
    guard presented.isValid(at: context.clock.now()) else {
      throw .client("the certificate has ended or has not begun")
    }
    switch method {
    case .tlsClientAuth:
      guard context.tls?.authority.hasIssued(presented) == true else {
        throw .client("the certificate is not one of the sandbox's authority")
      }
      guard presented.subject == "CN=\(client.id)" else {
        throw .client("the subject of the certificate is not the client's")
      }
    case .selfSignedTLSClientAuth:
      guard isRegistered(presented, for: client) else {
        throw .client("the certificate is not in the client's key set")
      }
    }
  }

  private func isRegistered(_ presented: PresentedCertificate, for client: Client) -> Bool {
    guard case .array(let keys)? = settings.clientKeys[client.id]?["keys"] else { return false }
    let text = JSON.string(Data(presented.bytes).base64EncodedString())
    return keys.contains { key in
      guard case .array(let chain)? = key["x5c"] else { return false }
      return chain.first == text
    }
  }

  /// Binds the tokens of a reply to the certificate of the connection, if the settings say so.
  func bind(_ tokens: IssuedTokens, _ call: EndpointCall) {
    guard settings.bindsTokensToCertificate, let certificate = call.certificate else { return }
    let now = context.clock.now()
    for token in [tokens.accessToken, tokens.refreshToken].compactMap(\.self) {
      ledger.boundTokens.insert(
        certificate.thumbprint, for: token, until: now.addingTimeInterval(2.0e9), now: now)
    }
  }

  /// The hash of the certificate to which a token is bound; nil if it is not bound.
  func binding(of token: String) -> String? {
    ledger.boundTokens.value(token, now: context.clock.now())
  }

  /// Whether the connection may use a token (RFC 8705 §3).
  func mayUse(_ token: String, _ call: EndpointCall) -> Bool {
    binding(of: token).map { $0 == call.certificate?.thumbprint } ?? true
  }
}

// Control of the certificates.
extension OIDCBackend {
  /// Returns the certificate of the sandbox's authority, which has issued that of its listener.
  func readAuthority(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      guard let tls = context.tls else { throw OAuthError("invalid_request", "there is no TLS") }
      return .json(["pem": .string(try tls.authority.pem())])
    }
  }

  /// Issues a private key and its certificate: `{"name": "usher-tls", "seconds": 3600}`. With
  /// `"isForeign": true` an authority issues it that nobody trusts.
  func issueCertificate(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let body = try? JSON(parsing: call.body)
      guard let tls = context.tls, case .string(let name)? = body?["name"],
        case .integer(let seconds) = body?["seconds"] ?? 31_536_000
      else { throw OAuthError("invalid_request", "name is missing, or seconds is no integer") }
      let isForeign = body?["isForeign"] == .bool(true)
      let authority = isForeign ? try CertificateAuthority() : tls.authority
      let now = context.clock.now()
      let pem = try authority.issue(
        to: name, from: now.addingTimeInterval(-3600),
        until: now.addingTimeInterval(Double(seconds)))
      return .json(["pem": .string(pem)])
    }
  }
}
