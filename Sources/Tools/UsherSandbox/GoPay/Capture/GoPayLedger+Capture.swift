import Crypto
import FoundationEssentials

extension GoPayLedger {
  /// An access token for the capture page.
  struct CaptureToken: Sendable, Hashable {
    let person: GoPayPerson
    /// The linking token that it was issued for.
    let link: String
  }

  /// Issues a capture token, a JWT in Base64 like the vendor's. Clients must treat it as opaque:
  /// the signing key is discarded.
  mutating func issueCaptureToken(
    _ person: GoPayPerson, link: String, seconds: Int, now: Date
  ) -> String {
    let expires = now.addingTimeInterval(Double(seconds))
    let token = Data(jwt(person, expires).utf8).base64EncodedString()
    captureTokens.insert(
      CaptureToken(person: person, link: link), for: token, until: expires, now: now)
    return token
  }

  private func jwt(_ person: GoPayPerson, _ expires: Date) -> String {
    let header: JSON = ["alg": "HS256", "typ": "JWT"]
    let claims: JSON = [
      "jti": .string(tokenGenerator.token("cap")), "sub": .string(person.username),
      "exp": .integer(Int(expires.timeIntervalSince1970)),
    ]
    let text = "\(Base64.url(header.encoded())).\(Base64.url(claims.encoded()))"
    let key = SymmetricKey(data: tokenGenerator.secret(32))
    let code = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
    return "\(text).\(Base64.url(code))"
  }

  mutating func endCaptureTokens() { captureTokens = ExpiringTable() }

  /// Returns the submission of a session, which the first request creates, and the path segment of
  /// its page, which is new for each request.
  mutating func capture(
    _ request: CaptureRequest, _ holder: CaptureToken, seconds: Int, now: Date
  ) -> (id: String, page: String, expires: Date) {
    let id: String
    if let known = submissions.key(where: {
      $0.person == holder.person && $0.request.isSession(of: request)
    }) {
      id = known
      submissions.update(id) {
        $0.request = request
        $0.link = holder.link
      }
    } else {
      id = tokenGenerator.token("sub")
      submissions.insert(
        Submission(
          id: id, number: nextNumber(), person: holder.person, request: request, link: holder.link,
          created: now),
        for: id, until: .distantFuture, now: now)
    }
    let page = tokenGenerator.token("page")
    let expires = now.addingTimeInterval(Double(seconds))
    pages.insert(id, for: page, until: expires, now: now)
    return (id, page, expires)
  }

  private mutating func nextNumber() -> Int {
    Int(nextID("").dropFirst()) ?? 0
  }

  /// Returns the submission of a page that has not expired.
  func submission(ofPage page: String?, now: Date) -> Submission? {
    guard let page, let id = pages.value(page, now: now) else { return nil }
    return submission(id)
  }

  func submission(_ id: String?) -> Submission? {
    id.flatMap { submissions.value($0, now: .distantPast) }
  }

  /// Returns the newest submission that the person submitted.
  func lastSubmitted(by person: GoPayPerson) -> Submission? {
    submissions.values.filter { $0.person == person && $0.submitted != nil }
      .max { ($0.submitted ?? .distantPast, $0.number) < ($1.submitted ?? .distantPast, $1.number) }
  }

  /// Changes an open capture; does nothing if the capture has ended.
  mutating func capture(_ id: String, _ change: (inout Submission.Capture) -> Void) {
    submissions.update(id) { submission in
      guard case .open = submission.capture else { return }
      change(&submission.capture)
    }
  }

  mutating func move(_ id: String, to kyc: KYC, now: Date) {
    submissions.update(id) {
      $0.moved = kyc
      $0.updated = now
    }
  }
}
