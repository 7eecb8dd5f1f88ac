import FoundationEssentials
import Glibc
import Synchronization
import Testing
import UsherClient
import UsherCommands
import UsherCore
import UsherTestKit

/// A machine of which only the files are real: its systemd, and a usherd that opens a database or
/// says why not.
final class FakeMachine: Tools {
  struct State {
    /// What this host seals, no other opens.
    var host = "this"
    var missing: Set<String> = []
    var isActive = false
    /// Program and arguments of what was run, in order.
    var runs: [String] = []
    /// Why usherd does not open what is there; nil: it does.
    var refusal: @Sendable () -> String? = { nil }
    /// How many more stops systemd cancels, because it restarts a service that has failed.
    var stopsToCancel = 0
    /// systemctl's exit status 243.
    var isCredentialClosed = false
    /// What systemd-creds says instead of doing it.
    var creds: String?
    /// Seals another key than it was given.
    var isLying = false
    /// The recovery key that usherd was handed when it started last.
    var handed: String?
    /// Whether usherd was told, when it started last, to accept changes by something else.
    var isAccepting = false
    /// What happens on the machine just before a program runs.
    var before: @Sendable (String) -> Void = { _ in }
  }

  let folder: String
  let places: Places
  let state = Mutex(State())

  init() throws {
    var name = Array("/tmp/usher-machine-XXXXXX".utf8CString)
    try #require(mkdtemp(&name) != nil)
    folder = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    var places = Places(environment: [:])
    places.sealed = folder + "/sealed"
    places.passing = folder + "/passing"
    places.state = folder + "/state"
    places.userState = folder + "/home"
    places.memory = folder
    self.places = places
    for directory in [places.state, places.userState] { mkdir(directory, 0o700) }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  // MARK: Files

  var sealed: String { places.sealed + "/usherd.master-key" }
  var keyFile: String { places.state + "/master.key" }
  var database: String { places.state + "/usherd.db" }

  func read(_ path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path).map { [UInt8]($0) }
  }

  func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) throws {
    try Data(bytes).write(to: URL(filePath: path))
    chmod(path, mode)
  }

  func names(_ directory: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
  }

  /// A page that says it is a database of usherd's, and what is in it.
  static func database(_ content: String, pages: UInt8 = 1) -> [UInt8] {
    var bytes = Array("SQLite format 3\0".utf8) + [0x10, 0]
    bytes += [UInt8](repeating: 0, count: 4096 - bytes.count)
    bytes[31] = pages
    bytes.replaceSubrange(68..<72, with: [0x55, 0x73, 0x68, 0x72])
    bytes.replaceSubrange(200..<200 + content.utf8.count, with: Array(content.utf8))
    return bytes
  }

  func seal(_ key: [UInt8], on host: String = "this") throws {
    mkdir(places.sealed, 0o700)
    let digits = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    try write(Array("\(host)|usherd.master-key|\(digits)".utf8), to: sealed)
  }

  // MARK: Programs

  var runs: [String] { state.withLock { $0.runs } }

  func path(of name: String) -> String? {
    state.withLock { $0.missing.contains(name) ? nil : "/fake/\(name)" }
  }

  func run(
    _ program: String, _ arguments: [String], input: Secret, within limit: Duration
  ) async throws -> ToolEnding {
    let name = String(program.dropFirst("/fake/".count))
    let line = ([name] + arguments).joined(separator: " ")
    let before = state.withLock { state in
      state.runs.append(line)
      return state.before
    }
    before(line)
    switch name {
    case "systemd-creds": return creds(arguments, input)
    case "systemctl": return systemctl(arguments.filter { $0 != "--user" })
    case "env":
      let folder = arguments[0].split(separator: "=").last.map(String.init) ?? ""
      return open(handed: arguments.count == 5 ? folder : nil)
    default: return ToolEnding(status: 127)
    }
  }

  private func creds(_ arguments: [String], _ input: Secret) -> ToolEnding {
    state.withLock { state in
      if let words = state.creds { return ToolEnding(status: 1, errors: "Trying.\n\(words)\n") }
      let name = arguments[1].split(separator: "=").last.map(String.init) ?? ""
      if arguments[0] == "encrypt" {
        let key = state.isLying ? String(repeating: "0", count: 64) : input.revealed()
        return ToolEnding(status: 0, output: Array("\(state.host)|\(name)|\(key)".utf8))
      }
      let parts = (read(arguments[2]) ?? []).split(separator: UInt8(ascii: "|"))
      guard parts.count == 3, Array(parts[0]) == Array(state.host.utf8),
        Array(parts[1]) == Array(name.utf8)
      else { return ToolEnding(status: 1, errors: "Decryption failed\n") }
      return ToolEnding(status: 0, output: Array(parts[2]))
    }
  }

  private func systemctl(_ arguments: [String]) -> ToolEnding {
    switch arguments[0] {
    case "is-active":
      return ToolEnding(status: state.withLock { $0.isActive } ? 0 : 3)
    case "stop":
      return state.withLock { state in
        guard state.stopsToCancel == 0 else {
          state.stopsToCancel -= 1
          return ToolEnding(status: 1, errors: "Job for usherd.socket canceled.\n")
        }
        state.isActive = false
        return ToolEnding(status: 0)
      }
    case "start", "restart":
      guard arguments.contains("usherd.service") else { return ToolEnding(status: 0) }
      if arguments[0] == "start", state.withLock({ $0.isActive }) { return ToolEnding(status: 0) }
      let ending = open(handed: places.passing)
      state.withLock { $0.isActive = ending.status == 0 }
      return ToolEnding(status: ending.status, errors: "Job for usherd.service failed.\n")
    case "show":
      let words = state.withLock { state in
        let status = state.isCredentialClosed ? 243 : 1
        let active = state.isActive ? "active" : "activating"
        return """
          StatusText=\(state.refusal() ?? "")
          ExecMainStatus=\(status)
          ActiveState=\(active)
          """
      }
      return ToolEnding(status: 0, output: Array(words.utf8))
    default: return ToolEnding(status: 0)
    }
  }

  private func open(handed folder: String?) -> ToolEnding {
    let key = folder.flatMap { read($0 + "/usherd.recovery-key") }
    let acceptance = folder.flatMap { read($0 + "/usherd.accept-changes") }
    return state.withLock { state in
      state.handed = key.map { String(decoding: $0, as: UTF8.self) }
      if acceptance != nil { state.isAccepting = true }
      if state.isCredentialClosed { return ToolEnding(status: 1) }
      let refusal = state.refusal()
      return ToolEnding(status: refusal == nil ? 0 : 1, errors: "usherd: \(refusal ?? "")\n")
    }
  }

  // MARK: Command lines

  /// Runs a command line here, against a daemon that expects these calls.
  ///
  /// - Parameter user: 0 means the system's daemon.
  func usherctl(
    _ arguments: [String], typed: [String] = [], user: UInt32 = 0, output: Int32 = 1,
    asking exchanges: [Exchange] = [], environment: [String: String]? = nil
  ) async throws -> Outcome {
    let script = Script(exchanges)
    let terminal = ScriptedTerminal(typed)
    return try await FakeDaemon.run { peer in
      while true { try await script.answer(try await peer.next(), peer) }
    } _: { daemon in
      let time = TestTime()
      let environment = CommandEnvironment(
        terminal: terminal, browser: terminal, programs: NoPrograms(), clock: time,
        sleep: { _ in }, variables: environment ?? ["USHER_ADMIN_SOCKET": daemon.path],
        userID: user, configFolder: self.folder + "/none", tools: self, places: self.places,
        output: output)
      let status = await Usherctl.run(arguments, in: environment)
      #expect(script.left == [])
      return Outcome(status: status, output: terminal.output, error: terminal.error)
    }
  }
}

extension Exchange {
  /// `system.status` of a daemon that runs.
  static func keys(
    _ origin: String = "systemd credential usherd.master-key", hasRecoveryKey: Bool
  ) -> Exchange {
    ask(
      "system.status",
      """
      {"version":"0","uptimeSeconds":1,"ready":true,"providers":[],"flows":0,"connections":1,\
      "masterKey":"\(origin)","hasRecoveryKey":\(hasRecoveryKey)}
      """)
  }

  static let lockedKeys = ask(
    "system.status",
    """
    {"version":"0","uptimeSeconds":1,"ready":false,"locked":true,"providers":[],"flows":0,\
    "connections":1}
    """)

  static let recoveryKey = ask("key.createRecovery", #"{"recoveryKey":"AAAA-BBBB"}"#)
}
