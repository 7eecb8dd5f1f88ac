import Synchronization
import UsherClient
import UsherCore

/// Registration of a person and a device by the calls of FNSValue's mobile SDK.
///
/// A program that used the SDK on a phone makes the same calls on Linux. The daemon does the work: it
/// asks BSA, keeps the account and its TOTP secret, and knows the person at this machine.
///
/// Each call of ``APICaller`` is there twice: with the SDK's callbacks, and `async`. Of the callbacks
/// exactly one brings the outcome, once: the success, the negative answer, ``OnFailed`` or
/// ``OnError``. ``OnCompleted`` comes after it. ``OnTotalLog`` may come any number of times before.
/// They are called one after the other by a task of the call's own: on no particular thread and on no
/// actor, maybe before the call returns. When the call's ``DisposeBag`` is disposed of, nothing more
/// is called.
///
/// Nothing of a call is kept in the program that could not be asked again: a number that was requested
/// before a restart of the program is verified after it.
///
/// Source: seed "User Registration"; flows and words are those of the daemon's page BSA.
public enum BSA {
  private static let chosen = Mutex<BSAService?>(nil)

  /// Says which provider of the daemon is BSA, where the daemon is, and who asks for passcodes.
  ///
  /// Nothing is asked yet. A program that never does it gets the defaults. Done again, the calls that
  /// follow are about the new values, and ``loadUserKey()`` and its like know nothing until then; what
  /// is under way goes on.
  ///
  /// - Parameters:
  ///   - provider: The `name` of the `[[provider]]` in the daemon's configuration.
  ///   - socketPath: Nil finds the daemon that serves this user, as `UsherClient` does.
  ///   - prompt: Asks the person at this machine in the place of iOS; nil: a finger is waited for at
  ///     the reader, and nobody can be asked for a passcode. It is kept alive.
  public static func configure(
    provider: String = "bsa", socketPath: String? = nil, prompt: (any LocalAuth.Prompt)? = nil
  ) {
    let service = BSAService(provider: provider, socketPath: socketPath, prompt: prompt)
    chosen.withLock { $0 = service }
  }

  static var service: BSAService {
    chosen.withLock { chosen in
      if let chosen { return chosen }
      let service = BSAService(provider: "bsa", socketPath: nil, prompt: nil)
      chosen = service
      return service
    }
  }
}

// MARK: - Callbacks

extension BSA {
  /// The call was refused.
  ///
  /// `rtCode` is BSA's; the daemon's page BSA has them all. Where BSA has said none it is the nearest
  /// one: ``BSAError/failed(rtCode:message:retryAfter:)``. `resultMessage` is a sentence for people.
  public typealias OnFailed = @Sendable (_ rtCode: Int, _ resultMessage: String) -> Void

  /// The call got no answer: a ``BSAError`` without an ``BSAError/rtCode``.
  public typealias OnError = @Sendable (_ error: any Error) -> Void

  /// A line about what is being done. No secret and no number is in it, and contacts are masked.
  public typealias OnTotalLog = @Sendable (_ text: String) -> Void

  /// All is done: it comes last, whatever the outcome.
  public typealias OnCompleted = @Sendable () -> Void

  /// As the seed spells it.
  // swift-format-ignore: TypeNamesShouldBeCapitalized
  public typealias onCompleted = OnCompleted
}

/// The callbacks that each call has.
struct BSACallbacks: Sendable {
  var failed: BSA.OnFailed
  var error: BSA.OnError
  var totalLog: BSA.OnTotalLog?
  var completed: BSA.OnCompleted?

  /// Makes a call that belongs to a bag, of what is configured now.
  func run<Value: Sendable>(
    _ name: String, in bag: DisposeBag,
    _ call: @escaping @Sendable (BSAService, BSALog) async throws(BSAError) -> Value,
    answer: @escaping @Sendable (Value) -> Void
  ) {
    let service = BSA.service
    let log = BSALog(name: name, tell: totalLog)
    bag.run {
      do throws(BSAError) {
        log("begins")
        let value = try await call(service, log)
        log("was answered")
        tell { answer(value) }
      } catch {
        log(error.line)
        tell { self.tell(error) }
      }
      tell { completed?() }
    }
  }

  private func tell(_ error: BSAError) {
    if case .failed(let rtCode, let message, _) = error {
      failed(rtCode, message)
    } else {
      self.error(error)
    }
  }

  private func tell(_ callback: () -> Void) {
    if !Task.isCancelled { callback() }
  }
}

/// Where a call writes what it does. What is written there is shown: no secret, no unmasked contact.
struct BSALog: Sendable {
  static let none = BSALog(name: "", tell: nil)

  var name: String
  var tell: BSA.OnTotalLog?

  /// Nothing where the task is cancelled.
  func callAsFunction(_ line: @autoclosure () -> String) {
    guard let tell, !Task.isCancelled else { return }
    tell("BSA.\(name): \(line())")
  }
}
