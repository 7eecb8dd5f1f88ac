import Foundation
import Synchronization

/// The real fprintd with libfprint's virtual reader, on a message bus of its own, and beside it a
/// polkit that grants what a test says: everything at first.
///
/// All of it ends when the test lets go of it, or at ``stop()``. Nobody waits on a thread that
/// tests share.
package final class FprintdUnderTest: Sendable {
  /// False where a program is missing; `Packaging/install-dependencies test` brings them.
  package static let isPossible = [busDaemon, fprintd, python, mock].allSatisfy {
    FileManager.default.fileExists(atPath: $0)
  }

  /// What sort of reader it is.
  package enum Kind: String, Sendable {
    /// It compares with one print; fprintd chooses which where a user has several.
    case comparing = "virtual_device"
    /// It tells which print of several it is.
    case identifying = "virtual_device_storage"

    fileprivate var variable: String { "FP_\(rawValue.uppercased())" }
  }

  private enum Role: CaseIterable { case bus, polkit, fprintd }

  private let kind: Kind
  private let place: TemporaryDirectory
  private let helper: String
  private let programs = Mutex<[Role: RunningProgram]>([:])

  /// - Parameter withService: Without it there is a bus, and nobody on it.
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

  /// An address where no bus is, and so no reader, whatever this machine has.
  package static let noBus = "unix:path=/nonexistent/bus"

  package var busAddress: String { "unix:path=\(place.file("bus"))" }

  /// How often the reader was released by whoever had it, rather than taken from one who left.
  package var releases: Int { log.components(separatedBy: "released device 0").count - 1 }

  /// What fprintd tells about itself.
  private var log: String { programs.withLock { $0[.fprintd]?.log } ?? "" }

  /// Polkit must allow it, and nobody may hold the reader.
  ///
  /// - Parameter print: What this finger leaves at the reader: `SCAN <print>` is this finger.
  package func enrol(user: String, finger: String, print: String) async throws {
    try await act("enrol", user, finger, print)
  }

  /// What happens at the reader, in this order: `SCAN <print>`, `RETRY <reason>` (0: again, 1: too
  /// short, 2: not in the centre, 3: lift the finger), `ERROR <code>`. Waits until somebody has
  /// claimed the reader.
  package func script(_ commands: String...) async throws { try await act(["script"] + commands) }

  /// Pulls the reader out, while somebody has it claimed.
  package func unplug() async throws { try await script("UNPLUG") }

  /// Polkit grants these actions and no others.
  package func allow(only actions: [String]) async throws { try await act(["allow"] + actions) }

  /// Polkit answers no question any more.
  package func silencePolkit() async throws { try await act("hang") }

  /// Another process that has the reader claimed until it is let go of.
  package func holder(user: String) async throws -> RunningProgram {
    try await other(["hold", user], says: "held")
  }

  /// What an fprintd does that is not as it should be.
  package enum Habit: String, Sendable {
    /// A match is signalled while the reader is being claimed, and none of the scan itself.
    case stale
    /// What it answers and signals has other types.
    case garbled
    /// A match, but then it neither stops nor releases, nor answers.
    case mute
  }

  /// Takes fprintd's place, where there is none.
  package func imposter(_ habit: Habit) async throws -> RunningProgram {
    try await other(["odd", habit.rawValue], says: "here")
  }

  /// Somebody on the bus who is not fprintd tells everybody that the finger matched.
  package func forgeMatch() async throws { try await act("forge") }

  /// How many are connected to the bus.
  package func connections() async throws -> Int {
    let text = try await act("connections").trimmingCharacters(in: .whitespacesAndNewlines)
    guard let count = Int(text) else { throw TestError("no number: \(text)") }
    return count
  }

  /// As a crash.
  package func killService() async throws {
    try await unblocking { [self] in end(.fprintd) }
  }

  /// The bus is gone, and everybody on it loses his connection.
  package func killBus() async throws {
    try await unblocking { [self] in end(.bus) }
  }

  /// Everything anew at the same address, with the prints of before.
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
      try eventually("it says \(word)") {
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
    // Its file is there a moment before it listens.
    try eventually("the bus takes connections") { (try? RawClient(place.file("bus"))) != nil }
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
    let done = try run(Self.python, [helper] + words, environment: environment, within: 30)
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

/// Does what blocks on a thread of its own: the threads of tasks are as few as the processors.
package func unblocking<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
