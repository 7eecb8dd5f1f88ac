import Synchronization
import UsherClient
import UsherCore

/// Verification of a phone number by a code in an SMS, by the calls of Truecaller's mobile SDK.
///
/// A program that used the SDK on a phone makes the same calls on Linux. The daemon asks the server
/// and keeps the token; what becomes of it is told to ``delegate``. A program that would rather wait
/// than be called has ``verification(forPhone:countryCode:)`` and
/// ``verify(code:firstName:lastName:)``.
///
/// One verification is under way at a time. After a restart of the program or of usherd a code may
/// still be handed in: the daemon is asked what waits for one.
///
/// Source: seed "verifying non Truecaller app users"; the flow is that of the daemon's page
/// Truecaller.
public final class TCTrueSDK: Sendable {
  private static let shared = TCTrueSDK()

  public static func sharedManager() -> TCTrueSDK { shared }

  private struct Setup: Sendable {
    var place: VerificationService.Place
    var app: PhoneRequest.App?
  }

  private let setup: Mutex<Setup>
  private let ears: Ears
  private let clock: any Clock
  let service: VerificationService

  /// Another one than ``sharedManager()``, for a program that serves several providers.
  public convenience init(provider: String = "truecaller", socketPath: String? = nil) {
    self.init(provider: provider, socketPath: socketPath, clock: SystemClock())
  }

  init(provider: String, socketPath: String?, clock: any Clock) {
    setup = Mutex(Setup(place: Self.place(provider, socketPath)))
    self.clock = clock
    let ears = Ears()
    let (news, feed) = AsyncStream.makeStream(of: TCVerificationEvent.self)
    self.ears = ears
    service = VerificationService(news: feed)
    Task { for await event in news { ears.hear(event) } }
  }

  deinit { service.close() }

  private static func place(_ provider: String, _ socketPath: String?) -> VerificationService.Place
  {
    .init(
      provider: ProviderName(provider),
      client: UsherClient(socketPath: socketPath, name: "UsherKit"))
  }
}

// MARK: - Setting up

extension TCTrueSDK {
  /// Says which provider of the daemon is Truecaller, and where the daemon is.
  ///
  /// Nothing is asked yet. Doing it again with the same changes nothing; with other values nothing
  /// more is told of a verification that is under way. A program that never does it gets the
  /// defaults.
  ///
  /// - Parameters:
  ///   - provider: The `name` of the `[[provider]]` in the daemon's configuration.
  ///   - socketPath: Nil finds the daemon that serves this user, as `UsherClient` does.
  public func configure(provider: String = "truecaller", socketPath: String? = nil) {
    let new = Self.place(provider, socketPath)
    let moved = setup.withLock { setup in
      guard
        setup.place.provider != new.provider
          || setup.place.client.socketPath != new.client.socketPath
      else { return false }
      setup.place = new
      return true
    }
    if moved { service.take(.init(errand: .move, place: new)) }
  }

  /// Sets up for an app; a program that never does it is not compared with any.
  ///
  /// The daemon compares both with what is configured there, and does nothing else with them:
  /// another key fails each verification with ``TCTrueSDKErrorCode/appKeyMissing``, another link
  /// with ``TCTrueSDKErrorCode/appLinkMissing``.
  public func setup(withAppKey appKey: String, appLink: String) {
    setup.withLock { $0.app = .init(key: Secret(appKey), link: appLink) }
  }

  /// Who hears what becomes of a verification. It is not kept alive.
  public var delegate: (any TCTrueSDKDelegate)? {
    get { ears.delegate }
    set { ears.delegate = newValue }
  }

  /// Where the number and the code are entered. It is not kept alive.
  public var viewDelegate: (any TCTrueSDKViewDelegate)? {
    get { ears.viewDelegate }
    set { ears.viewDelegate = newValue }
  }
}

// MARK: - Verifying

extension TCTrueSDK {
  /// Asks for a code to be sent to a number.
  ///
  /// The same number again asks for another code: before ``tokenTtl()`` is 0 that is refused with
  /// ``TCTrueSDKErrorCode/internal`` and `retryAfter`, and nothing is sent. Another number ends the
  /// verification of the first, and nothing more is told of that one. Without a ``viewDelegate`` it
  /// is ``TCTrueSDKErrorCode/viewDelegateNil`` and nothing is asked.
  ///
  /// - Parameters:
  ///   - phone: The national number: 10 digits for India.
  ///   - countryCode: ISO 3166-1 alpha-2 in any case.
  public func requestVerification(forPhone phone: String, countryCode: String) {
    guard viewDelegate != nil else {
      service.tell(.failed(.noViewDelegate))
      return
    }
    request(phone, countryCode, nil)
  }

  /// Hands in the code that the person got, and the name to write to the profile.
  ///
  /// Names are checked by the daemon: at least one letter and less than 128 characters, or
  /// ``TCTrueSDKErrorCode/invalidName``; the last name may be empty.
  public func verifySecurityCode(
    _ code: String, andUpdateFirstname firstName: String, lastName: String
  ) {
    enter(code, firstName, lastName, nil)
  }

  /// Seconds that are left of the code's time, rounded up: 0 when it is over; nil where no code is
  /// waited for.
  public func tokenTtl() -> Int? {
    service.expiresAt.map { end in
      Int((max(.zero, end - clock.now()).milliseconds + 999) / 1000)
    }
  }

  /// The access token of the last verification that succeeded, for the partner's server to validate.
  ///
  /// It is there from ``TCVerificationState/verificationComplete`` and
  /// ``TCVerificationState/verifiedBefore`` on, until another number is asked about; the daemon
  /// keeps it beyond that (`token.get`). Nil where a rule of this machine keeps it from the program.
  public func accessTokenForOTPVerification() -> String? { service.accessToken?.revealed() }

  func request(_ phone: String, _ countryCode: String, _ listener: VerificationService.Listener?) {
    let setup = setup.withLock { $0 }
    let request = PhoneRequest(phone: phone, countryCode: countryCode, app: setup.app)
    service.take(.init(errand: .request(request), place: setup.place, listener: listener))
  }

  func enter(
    _ code: String, _ firstName: String, _ lastName: String,
    _ listener: VerificationService.Listener?
  ) {
    let fields = ["firstName": Secret(firstName), "lastName": Secret(lastName)]
    let input = FlowInput.code(Secret(code), fields: fields)
    let place = setup.withLock { $0.place }
    service.take(.init(errand: .enter(input), place: place, listener: listener))
  }
}

// MARK: - The delegates

extension TCTrueSDK {
  /// Holds the delegates weakly, and tells them.
  private final class Ears: Sendable {
    private struct Pair {
      weak var delegate: (any TCTrueSDKDelegate)?
      weak var viewDelegate: (any TCTrueSDKViewDelegate)?
    }

    private let pair = Mutex(Pair())

    var delegate: (any TCTrueSDKDelegate)? {
      get { pair.withLock { $0.delegate } }
      set { pair.withLock { $0.delegate = newValue } }
    }

    var viewDelegate: (any TCTrueSDKViewDelegate)? {
      get { pair.withLock { $0.viewDelegate } }
      set { pair.withLock { $0.viewDelegate = newValue } }
    }

    func hear(_ event: TCVerificationEvent) {
      switch event {
      case .state(let state): delegate?.verificationStatusChanged(to: state)
      case .profile(let profile): delegate?.didReceive(profile)
      case .failed(let error): delegate?.didFailToReceiveTrueProfileWithError(error)
      }
    }
  }
}
