import Synchronization
import UsherClient

/// Verifies a phone number by an SMS code, with the calls of Truecaller's mobile SDK.
///
/// A program that used the SDK on a phone makes the same calls on Linux. The daemon calls
/// Truecaller's server and stores the access token. ``delegate`` receives the progress and the
/// result. The `async` forms are ``verification(forPhone:countryCode:)`` and
/// ``verify(code:firstName:lastName:)``.
///
/// One verification is active at a time. The daemon keeps it when the program or usherd restarts: a
/// code can still be submitted, and a request for the same number continues the verification.
///
/// Source: SDK documentation, "verifying non Truecaller app users". The page Truecaller of the
/// daemon's documentation describes the flow.
public final class TCTrueSDK: Sendable {
  private static let shared = TCTrueSDK()

  /// Returns the shared object, as in the SDK.
  public static func sharedManager() -> TCTrueSDK { shared }

  private struct Setup: Sendable {
    var provider: ProviderClient
    var app: PhoneRequest.App?
  }

  private let setup: Mutex<Setup>
  private let delegates: WeakDelegates
  private let clock: any Clock
  let service: VerificationService

  /// Creates an object beside ``sharedManager()``, for a program that uses several providers.
  ///
  /// The parameters are those of ``configure(provider:socketPath:)``.
  public convenience init(provider: String = "truecaller", socketPath: String? = nil) {
    self.init(provider: provider, socketPath: socketPath, clock: SystemClock())
  }

  init(provider: String, socketPath: String?, clock: any Clock) {
    setup = Mutex(Setup(provider: ProviderClient(provider, socketPath: socketPath)))
    self.clock = clock
    let delegates = WeakDelegates()
    let (events, feed) = AsyncStream.makeStream(of: TCVerificationEvent.self)
    self.delegates = delegates
    service = VerificationService(delegateFeed: feed, clock: clock)
    Task { for await event in events { await delegates.notify(event) } }
  }

  deinit { service.close() }
}

// MARK: - Setting up

extension TCTrueSDK {
  /// Sets the daemon's provider for Truecaller, and the daemon's socket.
  ///
  /// The daemon is not called. If a program does not call this function, the defaults apply. A
  /// change of a value ends the reports about an active verification, but not the verification
  /// itself.
  ///
  /// - Parameters:
  ///   - provider: The `name` of the `[[provider]]` in the daemon's configuration.
  ///   - socketPath: The daemon's socket; nil finds it as `UsherClient` does.
  public func configure(provider: String = "truecaller", socketPath: String? = nil) {
    let new = ProviderClient(provider, socketPath: socketPath)
    setup.withLock { setup in
      guard !setup.provider.isSame(as: new) else { return }
      setup.provider = new
      // The lock is still held, so that no request for the new provider is queued before the
      // change.
      service.enqueue(.init(operation: .providerChanged, provider: new))
    }
  }

  /// Sets the app key and the app link. A program need not call this.
  ///
  /// The daemon only compares both with its configuration. A different key fails each verification
  /// with ``TCTrueSDKErrorCode/appKeyMissing``, a different link with
  /// ``TCTrueSDKErrorCode/appLinkMissing``.
  public func setup(withAppKey appKey: String, appLink: String) {
    setup.withLock { $0.app = .init(key: Secret(appKey), link: appLink) }
  }

  /// The delegate, which receives the progress and the result of verifications. It is held weakly.
  public var delegate: (any TCTrueSDKDelegate)? {
    get { delegates.pair.withLock { $0.delegate } }
    set { delegates.pair.withLock { $0.delegate = newValue } }
  }

  /// The screen on which the number and the code are entered. It is held weakly.
  public var viewDelegate: (any TCTrueSDKViewDelegate)? {
    get { delegates.pair.withLock { $0.viewDelegate } }
    set { delegates.pair.withLock { $0.viewDelegate = newValue } }
  }
}

// MARK: - Verifying

extension TCTrueSDK {
  /// Requests a code by SMS for a number. The ``delegate`` receives the result.
  ///
  /// A second call for the same number requests another code. While ``tokenTtl()`` is above 0, it
  /// fails with ``TCTrueSDKErrorCode/internal`` and `retryAfter`, and no SMS is sent. The first
  /// call after a restart of the program reports `otpInitiated` again instead, and ``tokenTtl()``
  /// is the rest of the time. A call for another number cancels the active verification, which
  /// reports nothing more. If ``viewDelegate`` is nil, the call fails with
  /// ``TCTrueSDKErrorCode/viewDelegateNil`` before the daemon is called.
  ///
  /// - Parameters:
  ///   - phone: The national number, such as 10 digits for India.
  ///   - countryCode: The ISO 3166-1 alpha-2 code of the country, in upper or lower case.
  public func requestVerification(forPhone phone: String, countryCode: String) {
    guard viewDelegate != nil else {
      let error = TCError(code: .viewDelegateNil, message: "viewDelegate is not set")
      return service.notifyDelegate(.failed(error))
    }
    request(phone, countryCode, nil)
  }

  /// Submits the code that the person received, and the name for the profile. The ``delegate``
  /// receives the result.
  ///
  /// The daemon checks the names: at least one letter and less than 128 characters, otherwise
  /// ``TCTrueSDKErrorCode/invalidName``. The last name may be empty.
  public func verifySecurityCode(
    _ code: String, andUpdateFirstname firstName: String, lastName: String
  ) {
    enter(code, firstName, lastName, nil)
  }

  /// Returns the number of seconds until the code in the SMS expires, rounded up; 0 after that; nil
  /// if the SDK waits for no code.
  public func tokenTtl() -> Int? {
    service.expiresAt.map { end in
      Int((max(.zero, end - clock.now()).milliseconds + 999) / 1000)
    }
  }

  /// Returns the access token of the last successful verification, for the partner's server to
  /// validate.
  ///
  /// The token is available from ``TCVerificationState/verificationComplete`` or
  /// ``TCVerificationState/verifiedBefore`` until the next verification is requested, even if the
  /// profile then cannot be read; later the daemon still has it (`token.get`). It is nil if the
  /// daemon did not give it to the program, such as by a rule of its policy that does not allow
  /// `token.get`. A rule that does not allow `account.list` delays it until the profile.
  public func accessTokenForOTPVerification() -> String? { service.accessToken?.revealed() }

  func request(_ phone: String, _ countryCode: String, _ listener: VerificationService.Listener?) {
    setup.withLock { setup in
      let request = PhoneRequest(phone: phone, countryCode: countryCode, app: setup.app)
      service.enqueue(
        .init(operation: .request(request), provider: setup.provider, listener: listener))
    }
  }

  func enter(
    _ code: String, _ firstName: String, _ lastName: String,
    _ listener: VerificationService.Listener?
  ) {
    let fields = ["firstName": Secret(firstName), "lastName": Secret(lastName)]
    let input = FlowInput.code(Secret(code), fields: fields)
    setup.withLock { setup in
      service.enqueue(
        .init(operation: .enter(input), provider: setup.provider, listener: listener))
    }
  }
}

// MARK: - The delegates

extension TCTrueSDK {
  /// Holds the delegates weakly, and calls them.
  private final class WeakDelegates: Sendable {
    struct Pair {
      weak var delegate: (any TCTrueSDKDelegate)?
      weak var viewDelegate: (any TCTrueSDKViewDelegate)?
    }

    let pair = Mutex(Pair())

    func notify(_ event: TCVerificationEvent) async {
      let delegate = pair.withLock { $0.delegate }
      switch event {
      case .state(let state): await delegate?.verificationStatusChanged(to: state)
      case .profile(let profile): await delegate?.didReceive(profile)
      case .failed(let error): await delegate?.didFailToReceiveTrueProfileWithError(error)
      }
    }
  }
}
