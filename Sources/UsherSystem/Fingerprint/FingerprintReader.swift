import Glibc
import Synchronization
import UsherCore

/// The machine's fingerprint reader, accessed through the D-Bus service fprintd:
/// net.reactivated.Fprint on the system bus.
///
/// Each call uses its own thread and bus connection and releases both when it returns. So fprintd
/// may exit when it is idle, and a call works even if the bus was restarted before.
///
/// To find out without a scan whether there is a reader, call ``enrolledFingers(of:)``. It throws
/// ``FingerprintError/noReader`` if there is no reader or no fprintd.
///
/// fprintd asks polkit for `net.reactivated.fprint.device.verify`, and also for
/// `net.reactivated.fprint.device.setusername` if the user is not the daemon's own.
package final class FingerprintReader: Sendable {
  private struct State {
    var isClosed = false
    var scan: RunningScan?
    var running: [ObjectIdentifier: Interruption] = [:]
  }

  private final class RunningScan: Sendable {
    let interruption: Interruption
    /// Opened when this scan has released the reader, so that a waiting scan can begin.
    let end = AsyncLatch()

    init(_ interruption: Interruption) { self.interruption = interruption }
  }

  private let address: String?
  private let callLimit: Duration
  private let state = Mutex(State())

  /// Creates a reader without connecting to the bus.
  ///
  /// - Parameter address: The bus address as in the D-Bus Specification, "Server Addresses". Nil
  ///   means the system bus, which `$DBUS_SYSTEM_BUS_ADDRESS` can override.
  package convenience init(address: String? = nil) {
    self.init(address: address, callLimit: .seconds(5))
  }

  /// - Parameter callLimit: The maximum duration of one call to fprintd, including polkit's
  ///   decision. The time in which the user presents the finger is not part of it.
  init(address: String?, callLimit: Duration) {
    self.address = address
    self.callLimit = callLimit
  }

  /// Returns the sorted names of the user's enrolled fingers, such as "right-index-finger". Empty
  /// if the user has enrolled none or does not exist.
  ///
  /// A finger that is deleted and enrolled again has the same name, so the result does not show the
  /// change. Makes at most two calls to fprintd of 5 s each.
  ///
  /// - Parameter user: A user name of 1 to 256 bytes without NUL and `/`, and not `.` or `..`,
  ///   because fprintd makes a path of it. Any other name throws
  ///   ``FingerprintError/notPermitted(_:)``.
  package func enrolledFingers(
    of user: String
  ) async throws(FingerprintError) -> [String] {
    try await withDevice(about: user, Self.interruption()) { device throws(FingerprintError) in
      try device.enrolledFingers(of: user)
    }
  }

  /// Claims the reader for the user and scans one finger until there is a result or an error.
  ///
  /// The reader is released on return in every case. Cancelling the task, or reaching the limit,
  /// stops the scan. The call then returns as soon as the reader is released; each of fprintd's
  /// replies is awaited for at most 5 s.
  ///
  /// If several fingers are enrolled, a reader that can only compare with one finger (a few models)
  /// accepts only the one that fprintd lists first.
  ///
  /// - Parameters:
  ///   - user: A user name as in ``enrolledFingers(of:)``.
  ///   - limit: The time limit from now. After it the call throws ``FingerprintError/timedOut``.
  ///   - onHint: Called on another thread during the scan. It must not block.
  /// - Throws: ``FingerprintError/inUse`` at once if this object is already scanning. If that
  ///   earlier scan was cancelled, the new one waits until the earlier one has released the reader.
  package func verify(
    user: String, within limit: Duration,
    onHint: @escaping @Sendable (FingerprintHint) -> Void
  ) async throws(FingerprintError) -> FingerprintVerdict {
    let deadline = ContinuousClock.now + limit
    let scan = RunningScan(try Self.interruption())
    try await begin(scan)
    defer {
      state.withLock { $0.scan = nil }
      scan.end.open()
    }
    return try await withDevice(about: user, scan.interruption) { device throws(FingerprintError) in
      try device.verify(user: user, until: deadline, onHint: onHint)
    }
  }

  /// Registers the scan as the running one. If the running scan was cancelled, waits until that
  /// scan has released the reader.
  private func begin(_ scan: RunningScan) async throws(FingerprintError) {
    while let running = state.withLock({ state in
      defer { state.scan = state.scan ?? scan }
      return state.scan
    }) {
      guard running.interruption.hasHappened else { throw .inUse }
      await running.end.wait()
      if Task.isCancelled { throw .cancelled }
    }
  }

  /// Cancels the calls in progress and all later calls. The daemon calls it when it stops.
  package func close() {
    let running = state.withLock { state in
      state.isClosed = true
      return state.running.values
    }
    for interruption in running { interruption.interrupt() }
  }

  private static func interruption() throws(FingerprintError) -> Interruption {
    do {
      return try Interruption()
    } catch {
      throw .unavailable("no descriptor: \(error.words)")
    }
  }

  private func withDevice<Value: Sendable>(
    about user: String, _ interruption: Interruption,
    _ body: @escaping @Sendable (FprintDevice) throws(FingerprintError) -> Value
  ) async throws(FingerprintError) -> Value {
    guard Self.isUserName(user) else { throw .notPermitted("that is not a valid user name") }
    try begin(interruption)
    defer { end(interruption) }
    let result = await withTaskCancellationHandler {
      await runOnThread(interruption, body)
    } onCancel: {
      interruption.interrupt()
    }
    return try result.get()
  }

  private func runOnThread<Value: Sendable>(
    _ interruption: Interruption,
    _ body: @escaping @Sendable (FprintDevice) throws(FingerprintError) -> Value
  ) async -> Result<Value, FingerprintError> {
    await withCheckedContinuation { continuation in
      do throws(Errno) {
        try OwnThread.start { [address, callLimit] in
          continuation.resume(
            returning: Result { () throws(FingerprintError) in
              try body(
                FprintDevice(address: address, interruption: interruption, callLimit: callLimit))
            })
        }
      } catch {
        continuation.resume(returning: .failure(.unavailable("no thread: \(error.words)")))
      }
    }
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
