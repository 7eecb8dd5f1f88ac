/// The registered clients, and how they authenticate at the token endpoint.
package struct ClientRegistry: Sendable {
  package private(set) var all: [Client]

  package init(_ all: [Client]) {
    self.all = all
  }

  /// Adds a client, or replaces the one with its id.
  mutating func set(_ client: Client) {
    remove(client.id)
    all.append(client)
  }

  mutating func remove(_ id: String) { all.removeAll { $0.id == id } }

  package func named(_ id: String) -> Client? {
    all.first { $0.id == id }
  }

  /// Returns the client and the redirect URI of an authorization request. The URI is registered for
  /// the client.
  ///
  /// The caller must not send a refusal to the redirect URI of the request (RFC 6749 §4.1.2.1).
  package func requester(_ form: Form) throws(OAuthError) -> (Client, String) {
    guard let id = form["client_id"] else {
      throw OAuthError("invalid_request", "client_id is missing")
    }
    guard let client = named(id) else {
      throw OAuthError("invalid_client", "there is no client \(id.printable)")
    }
    guard let redirectURI = form["redirect_uri"] else {
      throw OAuthError("invalid_request", "redirect_uri is missing")
    }
    guard client.allowsRedirect(to: redirectURI) else {
      throw OAuthError("invalid_request", "redirect_uri is not registered for \(client.id)")
    }
    return (client, redirectURI)
  }

  /// Authenticates the client of a request, which must use exactly one method (RFC 6749 §2.3).
  ///
  /// A public client sends its `client_id` and nothing else.
  package func authenticate(_ call: EndpointCall, _ form: Form) throws(OAuthError) -> Client {
    guard let header = call.headers["authorization"] else {
      return try authenticate(form)
    }
    guard header.lowercased().hasPrefix("basic ") else {
      throw OAuthError.client("the Authorization header does not use the Basic scheme")
    }
    guard !form.has("client_secret") else {
      throw OAuthError("invalid_request", "the client uses two authentication methods at once")
    }
    let (id, secret) = try Self.basicParts(header)
    if let named = form["client_id"], named != id {
      throw OAuthError("invalid_request", "client_id differs from the Authorization header")
    }
    guard let client = named(id) else { throw .client("no such client") }
    guard let expected = client.secret else {
      throw .client("a public client must not send an Authorization header")
    }
    guard expected == secret else { throw .client("wrong client secret") }
    return client
  }

  /// Authenticates the client of a request by the form alone.
  func authenticate(_ form: Form) throws(OAuthError) -> Client {
    guard let id = form["client_id"] else {
      throw .client("client_id and the Authorization header are both missing")
    }
    guard let client = named(id) else { throw .client("no such client") }
    switch (client.secret, form["client_secret"]) {
    case (nil, _) where form.has("client_secret"):
      throw .client("a public client must not send a client_secret")
    case (nil, _):
      return client
    case (.some, nil):
      throw .client("this client must authenticate")
    case (.some(let expected), .some(let secret)):
      guard expected == secret else { throw .client("wrong client secret") }
      return client
    }
  }

  /// The client id of a request, which need not be authentic or known.
  func claimedID(_ call: EndpointCall, _ form: Form) -> String? {
    call.headers["authorization"].flatMap { try? Self.basicParts($0).0 } ?? form["client_id"]
  }

  /// Returns id and secret, both form-encoded in the Basic credentials (RFC 6749 §2.3.1).
  private static func basicParts(_ header: String) throws(OAuthError) -> (String, String) {
    let encoded = header.dropFirst("basic ".count).trimmingBlanks()
    guard let bytes = Base64.decoded(encoded) else {
      throw .client("the Basic credentials are not base64")
    }
    let parts = bytes.split(
      separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw .client("the Basic credentials have no colon") }
    guard
      let id = PercentEncoding.decodedStrictForm(parts[0]),
      let secret = PercentEncoding.decodedStrictForm(parts[1])
    else { throw .client("the Basic credentials are not form-encoded UTF-8") }
    return (id, secret)
  }
}

extension Substring {
  fileprivate func trimmingBlanks() -> String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}

/// An OAuth error (RFC 6749 §5.2), with a description for the developer who reads it.
package struct OAuthError: Error, Equatable {
  package var error: String
  package var description: String
  package var status: Int
  /// The new interval of `slow_down` in seconds, which some servers add to their response.
  package var interval: Int?
  /// The nonce that a DPoP proof must have (RFC 9449 §8).
  package var dpopNonce: String?

  package init(_ error: String, _ description: String, status: Int = 400) {
    self.error = error
    self.description = description
    self.status = status
  }

  /// Returns an `invalid_client` error with status 401.
  package static func client(_ description: String) -> OAuthError {
    OAuthError("invalid_client", description, status: 401)
  }

  package var reply: Reply {
    var reply = Reply.refusal(error, description, status: status)
    if let dpopNonce { reply.headers["DPoP-Nonce"] = dpopNonce }
    if status == 401 { reply.headers["WWW-Authenticate"] = #"Basic realm="usher-sandbox""# }
    return reply
  }
}
