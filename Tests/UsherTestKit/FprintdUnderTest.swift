import Foundation
import Synchronization

/// The real fprintd with libfprint's virtual reader on its own message bus, and a fake polkit that
/// grants the actions that a test allows; by default all.
///
/// Everything ends on deinitialization or at ``stop()``. Methods do not block the threads that
/// tests share.
package final class FprintdUnderTest: Sendable {
  /// Whether all programs are installed; `Packaging/install-dependencies test` installs them.
  package static let isPossible = [busDaemon, fprintd, python, mock].allSatisfy {
    FileManager.default.fileExists(atPath: $0)
  }

  /// The kind of fingerprint reader.
  package enum Kind: String, Sendable {
    /// Compares a finger with one print; fprintd chooses the print if a user has several.
    case comparing = "virtual_device"
    /// Tells which of several prints a finger has.
    case identifying = "virtual_device_storage"

    fileprivate var variable: String { "FP_\(rawValue.uppercased())" }
  }

  private enum Role: CaseIterable { case bus, polkit, fprintd }

  private let kind: Kind
  private let place: TemporaryDirectory
  private let helper: String
  private let programs = Mutex<[Role: RunningProgram]>([:])

  /// - Parameter withService: False starts only the bus, without fprintd.
  package static func start(
    _ kind: Kind = .comparing, withService: Bool = true
  ) async throws -> FprintdUnderTest {
    let fprintd = try FprintdUnderTest(kind)
    try await unblocking {
      try fprintd.startBus()
      if withService { try fprintd.startService() }
    }
    return fprintd
  }

  private init(_ kind: Kind) throws {
    self.kind = kind
    place = try TemporaryDirectory()
    helper =
      URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("fprintd.py").path
    try FileManager.default.createDirectory(
      atPath: place.file("state"), withIntermediateDirectories: false)
    try place.write(
      """
      <busconfig>
        <type>system</type>
        <listen>\(busAddress)</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow user="*"/>
          <allow own="*"/>
          <allow send_destination="*"/>
          <allow receive_sender="*"/>
          <allow send_type="method_call"/>
        </policy>
      </busconfig>
      """, to: "bus.conf")
  }

  deinit { end() }

  private var variables: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": busAddress] }

  /// An address without a bus, and therefore without a reader, whatever this machine has.
  package static let noBus = "unix:path=/nonexistent/bus"

  package var busAddress: String { "unix:path=\(place.file("bus"))" }

  /// How often a client released the reader itself, in contrast to clients that disconnected.
  package var releases: Int { log.components(separatedBy: "released device 0").count - 1 }

  /// The log of fprintd.
  private var log: String { programs.withLock { $0[.fprintd]?.log } ?? "" }

  /// Enrolls a finger. Polkit must allow that, and the reader must not be claimed.
  ///
  /// - Parameter print: The name of the print; `SCAN <print>` then presents this finger.
  package func enrol(user: String, finger: String, print: String) async throws {
    try await act("enrol", user, finger, print)
  }

  /// Plays events at the reader, in order: `SCAN <print>`, `RETRY <reason>` (0: again, 1: too
  /// short, 2: not in the centre, 3: lift the finger), `ERROR <code>`. Waits until a client has
  /// claimed the reader.
  package func script(_ commands: String...) async throws { try await act(["script"] + commands) }

  /// Removes the reader while a client has claimed it.
  package func unplug() async throws { try await script("UNPLUG") }

  /// Makes polkit grant only these actions.
  package func allow(only actions: [String]) async throws { try await act(["allow"] + actions) }

  /// Makes polkit stop replying.
  package func silencePolkit() async throws { try await act("hang") }

  /// Starts another process that has the reader claimed until it is deinitialized.
  package func holder(user: String) async throws -> RunningProgram {
    try await other(["hold", user], says: "held")
  }

  /// A misbehaviour of an fprintd.
  package enum Habit: String, Sendable {
    /// Signals a match while the reader is being claimed, and none for the actual scan.
    case stale
    /// Replies and signals have unexpected types.
    case garbled
    /// Signals a match, then does not reply to stop or release.
    case mute
  }

  /// Starts a fake fprintd; the real one must not be running.
  package func imposter(_ habit: Habit) async throws -> RunningProgram {
    try await other(["odd", habit.rawValue], says: "here")
  }

  /// Sends a forged match signal to all clients, as a client of the bus that is not fprintd.
  package func forgeMatch() async throws { try await act("forge") }

  /// Returns the number of connections to the bus.
  package func connections() async throws -> Int {
    let text = try await act("connections").trimmingCharacters(in: .whitespacesAndNewlines)
    guard let count = Int(text) else {
      throw TestError("fprintd.py did not print a number: \(text)")
    }
    return count
  }

  /// Kills fprintd, like a crash.
  package func killService() async throws {
    try await unblocking { [self] in end(.fprintd) }
  }

  /// Kills the bus, so that all its clients lose their connections.
  package func killBus() async throws {
    try await unblocking { [self] in end(.bus) }
  }

  /// Starts everything again at the same address, with the enrolled prints.
  package func startAgain() async throws {
    try await unblocking { [self] in
      end()
      try startBus()
      try startService()
    }
  }

  package func stop() async throws { try await unblocking { [self] in end() } }

  private func other(_ words: [String], says word: String) async throws -> RunningProgram {
    try await unblocking { [self] in
      let other = try RunningProgram(
        Self.python, [helper] + words, environment: variables, log: place.file("\(words[0]).log"))
      try eventually("fprintd.py prints \(word)") {
        guard other.isRunning else { throw TestError("\(words[0]): \(other.log)") }
        return other.log.contains(word)
      }
      return other
    }
  }

  private func startBus() throws {
    try? FileManager.default.removeItem(atPath: place.file("bus"))
    try start(
      .bus, Self.busDaemon, ["--config-file=\(place.file("bus.conf"))", "--nofork", "--nopidfile"])
    // The socket file exists shortly before the bus listens.
    try eventually("the message bus accepts connections") {
      (try? RawClient(place.file("bus"))) != nil
    }
  }

  private func startService() throws {
    try start(.polkit, Self.python, ["-m", "dbusmock", "--system", "--template", "polkitd"])
    _ = try helped(["allow", "all"])
    try start(
      .fprintd, Self.fprintd, ["--no-timeout"],
      environment: [
        "FP_DRIVERS_WHITELIST": kind.rawValue, kind.variable: place.file("reader"),
        "STATE_DIRECTORY": place.file("state"), "G_MESSAGES_DEBUG": "fprintd",
      ])
    _ = try helped(["ready"])
  }

  private func start(
    _ role: Role, _ program: String, _ arguments: [String], environment: [String: String] = [:]
  ) throws {
    let running = try RunningProgram(
      program, arguments, environment: variables.merging(environment) { $1 },
      log: place.file("\(role).log"))
    programs.withLock { $0[role] = running }
  }

  private func end() { for role in Role.allCases.reversed() { end(role) } }

  private func end(_ role: Role) {
    let program = programs.withLock { $0.removeValue(forKey: role) }
    if let program, program.isRunning { program.killAtOnce() }
  }

  @discardableResult
  private func act(_ words: String...) async throws -> String { try await act(words) }

  @discardableResult
  private func act(_ words: [String]) async throws -> String {
    try await unblocking { [self] in try helped(words) }
  }

  private func helped(_ words: [String]) throws -> String {
    let environment = variables.merging(["USHER_TEST_READER": place.file("reader")]) { $1 }
    let done = try run(Self.python, [helper] + words, environment: environment, within: 90)
    guard done.status == 0 else {
      throw TestError("\(words.joined(separator: " ")): \(done.errors)\n\(log)")
    }
    return done.output
  }

  private static let busDaemon = "/usr/bin/dbus-daemon"
  private static let fprintd = "/usr/libexec/fprintd"
  private static let python = "/usr/bin/python3"
  private static let mock = "/usr/lib/python3/dist-packages/dbusmock/templates/polkitd.py"
}

/// Runs blocking code on a new thread, because the cooperative pool has few threads.
package func unblocking<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
