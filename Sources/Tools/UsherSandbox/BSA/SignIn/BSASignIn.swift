import FoundationEssentials

/// A sign-in of a person at a site.
struct BSASignIn: Sendable, Hashable {
  /// How it was begun.
  enum Way: String, Sendable, Hashable, CaseIterable {
    case push
    case qr
    case otp
    case totp
  }

  /// What the device was given to go on with.
  struct Channel: Sendable, Hashable {
    let key: String
    let blockKey: String
    /// Of the device, in lower case.
    let device: String
  }

  enum Phase: Sendable, Hashable {
    /// Goes to `underWay`, `cancelled` or `timedOut`.
    case waiting
    /// Goes to `completed`, `cancelled` or `timedOut`.
    case underWay
    case completed(token: String, localAuth: Bool, isCollected: Bool)
    case cancelled
    case timedOut

    var isLive: Bool { self == .waiting || self == .underWay }

    var word: String {
      switch self {
      case .waiting: "waiting"
      case .underWay: "underWay"
      case .completed: "completed"
      case .cancelled: "cancelled"
      case .timedOut: "timedOut"
      }
    }
  }

  /// Also in the address of the site's page.
  let id: String
  let way: Way
  /// Whose site it is.
  let site: BSAClient
  /// Nil where it is not begun by a QR code.
  let qrID: String?
  /// Nil until somebody has read the QR code.
  var userKey: String?
  let begun: Date
  var expires: Date
  /// Nil until the device has asked for it.
  var channel: Channel?
  var stage = Phase.waiting

  /// Seconds that one which is over is remembered.
  private static let memory = 300.0

  /// This sign-in as it is at a time: what took too long is over.
  func at(_ now: Date) -> BSASignIn {
    var signIn = self
    if stage.isLive, expires <= now { signIn.stage = .timedOut }
    return signIn
  }

  func isRemembered(at now: Date) -> Bool { now < expires.addingTimeInterval(Self.memory) }

  /// The answer where nothing can be done with it any more.
  func over(_ settings: BSASettings) -> BSARefusal {
    switch stage {
    case .waiting, .underWay, .completed: .nothingInProgress
    case .cancelled: .cancelled
    case .timedOut: .timeOver(settings)
    }
  }
}
