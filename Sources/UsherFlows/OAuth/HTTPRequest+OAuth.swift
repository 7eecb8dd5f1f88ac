import UsherCore

extension HTTPRequest {
  static func form(
    _ url: String, _ fields: [(name: String, value: String)], headers: [Header]
  ) -> HTTPRequest {
    HTTPRequest(
      method: .post, url: url,
      headers: [
        .acceptJSON, Header("Content-Type", public: "application/x-www-form-urlencoded"),
      ] + headers,
      body: Secret(FormEncoding.encode(fields)))
  }
}

extension HTTPRequest.Header {
  static var acceptJSON: Self { Self("Accept", public: "application/json") }

  /// Returns the `Authorization` header for a bearer token (RFC 6750 §2.1).
  static func bearer(_ token: Secret) -> Self {
    Self("Authorization", Secret("Bearer \(token.revealed())"))
  }

  /// Returns the header with the access token of the call's account.
  static func bearer<Settings>(_ context: RenderContext<Settings>) throws(UsherError) -> Self {
    .bearer(try context.requiredAccessToken())
  }
}
