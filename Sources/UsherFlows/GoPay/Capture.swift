import UsherAPI
import UsherCore

/// The capture of photos of the user's card and face, on a page of GoPay.
///
/// The stored state determines the next call: first for a capture token, then for the page, then
/// for the status of the submission.
struct Capture: Codable, Sendable, Equatable {
  let session: CaptureSession
  let source: Source
  /// Whether this flow itself created the binding between the user and the GoPay account with SNAP,
  /// so that it has to remove the binding if it fails.
  let isBound: Bool
  /// The `userCorrelationId` that the exchange returned; nil without an exchange by the app or the
  /// backend.
  var exchangedID: String?
  /// GoPay's token for the calls of this capture; nil while it is being requested.
  var token: Sealed<Secret>?
  var page: Page?
  /// Whether a fresh page is being requested, because ``page`` has expired. Nil is false: earlier
  /// versions did not store it.
  var isRenewingPage: Bool?
  /// The time until which the user has to submit; nil in a flow that an earlier version stored,
  /// which expires with its log-in.
  var deadline: Timestamp?
  /// Whether the capture token replaces one that GoPay refused, and no call with the new one has
  /// succeeded yet.
  var isReplaced = false
  /// The failed attempts to get the token and the page; polls for the status are not limited.
  var retrying = RetryBackoff()
  /// The number of consecutive polls without a usable reply while the user is at the page.
  var misses = 0

  /// The credential for which GoPay issues a capture token.
  enum Source: Codable, Sendable, Equatable {
    case link(LinkingToken)
    /// The auth code that the user's log-in at GoPay returned.
    case login(code: Sealed<Secret>)
  }

  /// The page of GoPay where the user photographs card and face.
  struct Page: Codable, Sendable, Equatable {
    let submissionID: String
    /// An `https` URL, or `http` on the loopback.
    let url: String
    /// The time from which the page cannot be used; nil if GoPay does not say.
    var expiresAt: Timestamp?
  }

  /// The time for which a page is shown at least. A server with a wrong clock would otherwise make
  /// the daemon replace the page under the user's hands.
  static let minPageLife = Duration.seconds(60)

  init(
    _ source: Source, isBound: Bool, exchangedID: String?, _ order: IdentityRequest,
    seconds: Int, _ transition: inout TransitionContext
  ) {
    deadline = transition.now + .seconds(seconds)
    session = CaptureSession(
      id: transition.uuid(), requestID: order.requestID, returnURL: order.returnURL,
      locale: order.locale)
    self.source = source
    self.isBound = isBound
    self.exchangedID = exchangedID
  }

  var secrets: [Sealed<Secret>] {
    let made: Sealed<Secret>? =
      switch source {
      case .link(let link): link.secret
      case .login(let code): code
      }
    return [made, token].compactMap(\.self)
  }

  /// The page that the user can use; nil while one is requested.
  private var shownPage: Page? { isRenewingPage == true ? nil : page }

  var link: LinkingToken? { if case .link(let link) = source { link } else { nil } }

  var step: Step {
    guard let page = shownPage else { return .wait(.init(for: "the capture page")) }
    return .openURL(.init(url: page.url, redirectURI: session.returnURL ?? "", completes: .poll))
  }

  var call: GoPayCall {
    guard let token = token?.unsealed() else {
      return switch source {
      case .link(let link): .temporaryToken(link, requestID: session.requestID)
      case .login(let code): .sessionToken(code: code.unsealed(), requestID: session.requestID)
      }
    }
    guard let page = shownPage else { return .capture(session, token: token) }
    return .submission(id: page.submissionID, session, token: token)
  }

  /// Stores a page that arrived, and ends the request for it.
  mutating func show(_ page: Page, at now: Timestamp) {
    self.page = copy(page) { page in
      page.expiresAt = page.expiresAt.map { max($0, now + Self.minPageLife) }
    }
    isRenewingPage = nil
  }

  func isPageExpired(at now: Timestamp) -> Bool { page?.expiresAt.map { $0 <= now } ?? false }

  /// Counts a poll without a usable reply, and returns the pause before the next one. The user may
  /// still be at the page while GoPay is unreachable, so polling slows down but does not stop.
  ///
  /// - Parameter pollSeconds: The pause after a poll with a usable reply, in seconds.
  mutating func miss(_ pollSeconds: Int) -> Duration {
    misses = min(misses + 1, 6)
    return .seconds(min(pollSeconds << misses, max(60, pollSeconds)))
  }
}

extension TransitionContext {
  /// Returns a random UUID, version 4 (RFC 9562 §5.4).
  mutating func uuid() -> String { random(16).uuid(version: 4) }
}
