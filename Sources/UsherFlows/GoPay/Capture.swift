import UsherAPI
import UsherCore

/// The capture of a person's card and face on the provider's page.
///
/// What is asked next follows from what is known: a token, then the page, then how it stands.
struct Capture: Codable, Sendable, Equatable {
  let session: CaptureSession
  let source: Source
  /// Whether it is this flow that made the link.
  let isBound: Bool
  /// Nil while another one is asked for.
  var token: Sealed<Secret>?
  var page: Page?
  /// Whether the token is a second one that has not proved good yet.
  var isReplaced = false
  /// Up to the page.
  var retrying = RetryBackoff()
  /// Questions in a row that were not answered, while the person is at the page.
  var misses = 0

  /// What a token for the capture is had by.
  enum Source: Codable, Sendable, Equatable {
    case link(KnownLink)
    /// The session of the log-in that this auth code came from.
    case login(code: Sealed<Secret>)
  }

  struct Page: Codable, Sendable, Equatable {
    let submissionID: String
    let url: String
  }

  init(_ source: Source, isBound: Bool, _ order: IdentityOrder, _ moment: inout TransitionContext) {
    session = CaptureSession(
      id: moment.uuid(), requestID: order.requestID, returnURL: order.returnURL,
      locale: order.locale)
    self.source = source
    self.isBound = isBound
  }

  var secrets: [Sealed<Secret>] {
    let made: Sealed<Secret>? =
      switch source {
      case .link(let link): link.secret
      case .login(let code): code
      }
    return [made, token].compactMap(\.self)
  }

  var link: KnownLink? {
    switch source {
    case .link(let link): link
    case .login: nil
    }
  }

  var step: Step {
    guard let page else { return .wait(.init(for: "the capture page")) }
    return .openURL(
      .init(url: page.url, redirectURI: session.returnURL ?? "", completes: .poll))
  }

  var call: GoPayCall {
    guard let token = token?.unsealed() else {
      return switch source {
      case .link(let link): .temporaryToken(link.token, requestID: session.requestID)
      case .login(let code):
        .sessionToken(code: code.unsealed(), requestID: session.requestID)
      }
    }
    guard let page else { return .capture(session, token: token) }
    return .submission(id: page.submissionID, session, token: token)
  }

  /// The pause after a question that was not answered: the person may be at it while the provider is
  /// away, so it is asked less often, and not given up.
  ///
  /// - Parameter pollSeconds: That after one that was.
  mutating func miss(_ pollSeconds: Int) -> Duration {
    misses = min(misses + 1, 6)
    return .seconds(min(pollSeconds << misses, max(60, pollSeconds)))
  }
}

extension TransitionContext {
  /// Version 4 (RFC 9562 §5.4).
  mutating func uuid() -> String {
    var bytes = random(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = Array(bytes.hexadecimal)
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
      .joined(separator: "-")
  }
}
