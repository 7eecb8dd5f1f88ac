import Synchronization
import UsherClient

/// Registration of a person and a device, with the calls of FNSValue's mobile SDK.
///
/// A program that used the SDK on a phone makes the same calls on Linux. The daemon calls BSA,
/// stores the account and its TOTP secret, and authenticates the person at this machine.
///
/// Each call of ``APICaller`` has a form with the SDK's callbacks, and an `async` form. Exactly one
/// callback reports the outcome, once: that of the success, that of the negative answer,
/// ``OnFailed`` or ``OnError``. ``OnCompleted`` is called after it, and ``OnTotalLog`` any number
/// of times before it. A task of the call calls them one after the other. A closure that is written
/// in code of an actor, such as the main actor, runs on that actor; any other runs on no particular
/// thread, possibly before the call returns. After the call's ``DisposeBag`` is disposed of, no
/// callback is called. The callbacks of ``LocalAuth`` run in the background.
///
/// All state can be read from the daemon again: an OTP number that was requested before a restart
/// of the program can be verified after it.
///
/// Source: SDK documentation, "User Registration". The page BSA of the daemon's documentation
/// describes the flows and the rtCodes, BSA's result codes.
public enum BSA {
  private static let chosen = Mutex(
    BSAService(provider: "bsa", socketPath: nil, prompt: TerminalPresenter.ofProcess))

  /// Sets the daemon's provider for BSA, the daemon's socket, and the prompt for local
  /// authentication.
  ///
  /// The daemon is not called. If a program does not call this function, the defaults apply. A
  /// later call affects only new calls; calls in progress continue.
  ///
  /// - Parameters:
  ///   - provider: The `name` of the `[[provider]]` in the daemon's configuration.
  ///   - socketPath: The daemon's socket; nil finds it as `UsherClient` does.
  ///   - prompt: The prompt that asks the person at this machine, in place of iOS. It is retained.
  ///     The default is the terminal of the process, if it has one. If it is nil, only the
  ///     fingerprint reader can be used: a passcode cannot be asked for, so a local authentication
  ///     that needs one fails with `AUTH_FAILED`.
  public static func configure(
    provider: String = "bsa", socketPath: String? = nil,
    prompt: (any LocalAuth.Prompt)? = TerminalPresenter.ofProcess
  ) {
    let service = BSAService(provider: provider, socketPath: socketPath, prompt: prompt)
    chosen.withLock { $0 = service }
  }

  static var service: BSAService { chosen.withLock { $0 } }

  /// Runs `body` with the service for the present configuration, and converts its errors to
  /// ``BSAError``.
  static func call<Value: Sendable>(
    _ body: (BSAService) async throws -> Value
  ) async throws(BSAError) -> Value {
    try await translating(to: BSAError.self) { try await body(service) }
  }
}

// MARK: - Callbacks

extension BSA {
  /// Called if BSA or the daemon refused the call.
  ///
  /// `rtCode` is BSA's code (page BSA in Usher.docc lists them), or the closest one if BSA sent
  /// none: ``BSAError/failed(rtCode:message:retryAfter:)``. `resultMessage` is BSA's message, or a
  /// sentence about the rtCode if BSA sent none, or one that may contain personal data.
  public typealias OnFailed =
    @isolated(any) @Sendable (_ rtCode: Int, _ resultMessage: String) -> Void

  /// Called if the call got no answer, or was not permitted or not configured. The error is a
  /// ``BSAError`` without ``BSAError/rtCode``.
  public typealias OnError = @isolated(any) @Sendable (_ error: any Error) -> Void

  /// Called with a log line, which contains no secret and no OTP number; contacts are masked.
  ///
  /// The lines are everything that this library and the daemon's API tell about the call, with
  /// times: the calls to the daemon, each state of the flow, problems and rtCodes. The daemon makes
  /// the HTTP requests, and their log belongs to the operator.
  public typealias OnTotalLog = @isolated(any) @Sendable (_ text: String) -> Void

  /// Called last in every call, whatever the outcome.
  public typealias OnCompleted = @isolated(any) @Sendable () -> Void

  /// ``OnCompleted`` as the SDK documentation spells it.
  // swift-format-ignore: TypeNamesShouldBeCapitalized
  public typealias onCompleted = OnCompleted
}

/// The callbacks that all calls of the SDK have.
struct BSACallbacks: Sendable {
  var failed: BSA.OnFailed
  var error: BSA.OnError
  var totalLog: BSA.OnTotalLog?
  var completed: BSA.OnCompleted?

  /// Runs `body` with the service for the present configuration, in a task that the bag cancels.
  func run<Value: Sendable>(
    _ name: String, in bag: any BSA.Disposer,
    _ call: @escaping @Sendable (BSAService, BSALog) async throws -> Value,
    answer: @escaping @Sendable (Value) async -> Void
  ) {
    let service = BSA.service
    let log = BSALog(name: name, sink: totalLog)
    bag.run {
      do throws(BSAError) {
        await log("begins")
        let value = try await translating(to: BSAError.self) { try await call(service, log) }
        await log("was answered")
        await answer(value)
      } catch {
        await log(error.line)
        await report(error)
      }
      if let completed { await BSA.deliver(completed) }
    }
  }

  private func report(_ error: BSAError) async {
    if case .failed(let rtCode, let message, _) = error {
      await BSA.deliver(failed, rtCode, message)
    } else {
      await BSA.deliver(self.error, error as any Error)
    }
  }
}

extension BSA {
  /// Calls a callback on its actor, unless the task is cancelled.
  static func deliver<each Argument: Sendable>(
    _ callback: @isolated(any) @Sendable (repeat each Argument) -> Void,
    _ arguments: repeat each Argument
  ) async {
    await deliver(on: callback.isolation, callback, repeat each arguments)
  }

  /// Calls a callback from its own actor. No other code of that actor, which may dispose of the
  /// call, runs between the look at the task and the callback.
  private static func deliver<each Argument: Sendable>(
    on isolation: isolated (any Actor)?,
    _ callback: @isolated(any) @Sendable (repeat each Argument) -> Void,
    _ arguments: repeat each Argument
  ) async {
    guard !Task.isCancelled else { return }
    await callback(repeat each arguments)
  }
}
