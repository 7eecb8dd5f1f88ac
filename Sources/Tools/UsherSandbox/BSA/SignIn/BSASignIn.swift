import FoundationEssentials

/// A person's sign-in at a site.
struct BSASignIn: Sendable, Hashable {
  /// How the sign-in was begun.
  enum Trigger: String, Sendable, Hashable, CaseIterable {
    case push
    case qr
    case otp
    case totp
  }

  /// The channel that the device got to continue the sign-in.
  struct Channel: Sendable, Hashable {
    let key: String
    let blockKey: String
    /// The id of the device, in lower case.
    let device: String
  }

  enum Phase: Sendable, Hashable {
    /// `underWay`, `cancelled` or `timedOut` may follow.
    case waiting
    /// `completed`, `cancelled` or `timedOut` may follow.
    case underWay
    case completed(token: String, localAuth: Bool, isCollected: Bool)
    case cancelled
    case timedOut

    var isLive: Bool { self == .waiting || self == .underWay }

    var name: String {
      switch self {
      case .waiting: "waiting"
      case .underWay: "underWay"
      case .completed: "completed"
      case .cancelled: "cancelled"
      case .timedOut: "timedOut"
      }
    }
  }

  /// The id, which is also the last part of the page's address.
  let id: String
  let trigger: Trigger
  /// The site at which the person signs in.
  let site: BSAClient
  /// The QR id; nil if the sign-in was not begun by a QR code.
  let qrID: String?
  /// The user key; nil until a device has read the QR code.
  var userKey: String?
  let begun: Date
  var expires: Date
  /// The channel; nil until the device has requested it.
  var channel: Channel?
  var stage = Phase.waiting

  /// Seconds for which a sign-in is remembered after it expired.
  private static let memory = 300.0

  /// Returns the sign-in at a time: timed out if it has expired.
  func at(_ now: Date) -> BSASignIn {
    var signIn = self
    if stage.isLive, expires <= now { signIn.stage = .timedOut }
    return signIn
  }

  func isRemembered(at now: Date) -> Bool { now < expires.addingTimeInterval(Self.memory) }

  /// The error for a request that the sign-in's state does not permit any more.
  func over(_ settings: BSABackendSettings) -> BSARefusal {
    switch stage {
    case .waiting, .underWay, .completed: .nothingInProgress
    case .cancelled: .cancelled
    case .timedOut: .timeOver(settings)
    }
  }
}
