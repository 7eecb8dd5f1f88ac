import Glibc
import Synchronization

/// The machine's fingerprint reader as fprintd offers it: net.reactivated.Fprint on the system bus.
///
/// Nothing is held while nothing is asked: each call has a thread and a connection of its own, and
/// both are gone when it returns. So fprintd may end when it is idle, and a bus that was away is
/// found again by the next call.
///
/// Whether there is a reader, ``enrolledFingers(of:)`` tells without a scan: it throws
/// ``FingerprintError/noReader`` where there is none, or no fprintd.
///
/// fprintd asks polkit for `net.reactivated.fprint.device.verify`, and for
/// `net.reactivated.fprint.device.setusername` where the user is not our own.
package final class FingerprintReader: Sendable {
  private struct State {
    var isClosed = false
    var isScanning = false
    var running: [ObjectIdentifier: Interruption] = [:]
  }

  private let address: String?
  private let callLimit: Duration
  private let state = Mutex(State())

  /// Does nothing yet.
  ///
  /// - Parameter address: Of the bus, as in the D-Bus Specification, "Server Addresses"; nil: the
  ///   system bus. `$DBUS_SYSTEM_BUS_ADDRESS` is honoured.
  package convenience init(address: String? = nil) {
    self.init(address: address, callLimit: .seconds(5))
  }

  /// - Parameter callLimit: How long fprintd, polkit behind it, and the bus may think over one
  ///   call, a scan apart.
  init(address: String?, callLimit: Duration) {
    self.address = address
    self.callLimit = callLimit
  }

  /// The names of the fingers that have prints ("right-index-finger"), sorted; empty where the user
  /// has none, and where there is no such user.
  ///
  /// The same finger enrolled anew has the same name. At most two calls of 5 s each.
  ///
  /// - Parameter user: A user's name: 1 to 256 bytes without NUL and `/`, and neither `.` nor `..`
  ///   (fprintd makes a path of it). Any other is ``FingerprintError/notPermitted(_:)``.
  package func enrolledFingers(
    of user: String
  ) async throws(FingerprintError) -> [String] {
    try await converse(about: user) { device throws(FingerprintError) in
      try device.enrolledFingers(of: user)
    }
  }

  /// Claims the reader for the user and looks at one finger: until it is, or is not, one of his, or
  /// there is trouble.
  ///
  /// Whatever the outcome, the reader is free again on return. Cancelling the task, or the limit,
  /// stops the scan; it returns when the reader is released, for which fprintd has 5 s per call.
  /// With several fingers enrolled, a reader that cannot tell which of them it sees (few cannot)
  /// wants fprintd's first.
  ///
  /// - Parameters:
  ///   - user: As in ``enrolledFingers(of:)``.
  ///   - limit: Counted from now; then ``FingerprintError/timedOut``.
  ///   - onHint: Called on another thread, while the scan goes on; must not block.
  /// - Throws: ``FingerprintError/inUse`` at once where this object is scanning already.
  package func verify(
    user: String, within limit: Duration,
    onHint: @escaping @Sendable (FingerprintHint) -> Void
  ) async throws(FingerprintError) -> FingerprintVerdict {
    let deadline = ContinuousClock.now + limit
    let isFree = state.withLock { state in
      defer { state.isScanning = true }
      return !state.isScanning
    }
    guard isFree else { throw .inUse }
    defer { state.withLock { $0.isScanning = false } }
    return try await converse(about: user) { device throws(FingerprintError) in
      try device.verify(user: user, until: deadline, onHint: onHint)
    }
  }

  /// Ends what is running as if it were cancelled, and refuses what comes later likewise.
  package func close() {
    let running = state.withLock { state in
      state.isClosed = true
      return state.running.values
    }
    for interruption in running { interruption.interrupt() }
  }

  private func converse<Value: Sendable>(
    about user: String,
    _ body: @escaping @Sendable (FprintDevice) throws(FingerprintError) -> Value
  ) async throws(FingerprintError) -> Value {
    guard Self.isUserName(user) else { throw .notPermitted("that is no user's name") }
    let interruption: Interruption
    do {
      interruption = try Interruption()
    } catch {
      throw .unavailable("no descriptor: \(error.words)")
    }
    try begin(interruption)
    defer { end(interruption) }
    let result = await withTaskCancellationHandler {
      await conversation(interruption, body)
    } onCancel: {
      interruption.interrupt()
    }
    return try result.get()
  }

  private func conversation<Value: Sendable>(
    _ interruption: Interruption,
    _ body: @escaping @Sendable (FprintDevice) throws(FingerprintError) -> Value
  ) async -> Result<Value, FingerprintError> {
    await withCheckedContinuation { continuation in
      do throws(Errno) {
        try OwnThread.start { [address, callLimit] in
          continuation.resume(
            returning: Result { () throws(FingerprintError) in
              try body(Self.device(address, callLimit, interruption))
            })
        }
      } catch {
        continuation.resume(returning: .failure(.unavailable("no thread: \(error.words)")))
      }
    }
  }

  private static func device(
    _ address: String?, _ callLimit: Duration, _ interruption: Interruption
  ) throws(FingerprintError) -> FprintDevice {
    let bus: MessageBus
    do {
      bus = try MessageBus(address: address, interruption: interruption)
    } catch {
      throw FingerprintError(error)
    }
    return try FprintDevice(at: bus, callLimit: callLimit)
  }

  private func begin(_ interruption: Interruption) throws(FingerprintError) {
    let isOpen = state.withLock { state in
      guard !state.isClosed else { return false }
      state.running[ObjectIdentifier(interruption)] = interruption
      return true
    }
    guard isOpen else { throw .cancelled }
  }

  private func end(_ interruption: Interruption) {
    state.withLock { _ = $0.running.removeValue(forKey: ObjectIdentifier(interruption)) }
  }

  private static func isUserName(_ name: String) -> Bool {
    (1...256).contains(name.utf8.count) && ![".", ".."].contains(name)
      && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
  }
}
