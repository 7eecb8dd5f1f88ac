import FoundationEssentials
import Glibc
import Synchronization
import Testing
import UsherClient
import UsherCore
import UsherTestKit

@testable import UsherCommands

/// A simulated machine with real files: systemd, systemd-creds, and a usherd that opens its
/// database or reports why it cannot.
final class FakeMachine: Tools {
  struct State {
    /// The name of the host. A credential opens only on the host that sealed it.
    var host = "this"
    var missing: Set<String> = []
    var isActive = false
    /// The programs that were run, with their arguments, in order.
    var runs: [String] = []
    /// Returns why usherd cannot open its database; nil if it can.
    var refusal: @Sendable () -> String? = { nil }
    /// The number of further stops that systemd cancels, because it restarts a failed service.
    var stopsToCancel = 0
    /// Whether the service fails with systemd's exit status 243.
    var isCredentialClosed = false
    /// The error that systemd-creds reports; nil if it works.
    var creds: String?
    /// Whether systemd-creds seals another key than the given one.
    var isLying = false
    /// The recovery key that usherd got at its last start.
    var handed: String?
    /// Whether usherd was told at a start to accept changes by another program.
    var isAccepting = false
    /// Runs just before each program.
    var before: @Sendable (String) -> Void = { _ in }
  }

  let folder: String
  let directories: SystemDirectories
  let state = Mutex(State())

  init() throws {
    var name = Array("/tmp/usher-machine-XXXXXX".utf8CString)
    try #require(mkdtemp(&name) != nil)
    folder = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    var directories = SystemDirectories(environment: [:])
    directories.sealed = folder + "/sealed"
    directories.transientCredentials = folder + "/passing"
    directories.state = folder + "/state"
    directories.userState = folder + "/home"
    directories.memory = folder
    self.directories = directories
    for directory in [directories.state, directories.userState] { mkdir(directory, 0o700) }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  // MARK: Files

  var sealed: String { directories.sealed + "/usherd.master-key" }
  var keyFile: String { directories.state + "/master.key" }
  var database: String { directories.state + "/usherd.db" }

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

  /// Returns a page that looks like a usherd database with this content.
  static func database(_ content: String, pages: UInt8 = 1) -> [UInt8] {
    var bytes = Array("SQLite format 3\0".utf8) + [0x10, 0]
    bytes += [UInt8](repeating: 0, count: 4096 - bytes.count)
    bytes[31] = pages
    bytes.replaceSubrange(68..<72, with: [0x55, 0x73, 0x68, 0x72])
    bytes.replaceSubrange(200..<200 + content.utf8.count, with: Array(content.utf8))
    return bytes
  }

  func seal(_ key: [UInt8], on host: String = "this") throws {
    mkdir(directories.sealed, 0o700)
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
      let ending = open(handed: directories.transientCredentials)
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

  /// Runs a command line on this machine, against a daemon that expects these calls.
  ///
  /// - Parameter user: The user that runs it; 0 addresses the system's daemon.
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
        terminal: terminal, openPage: { terminal.open($0) }, programs: NoPrograms(), clock: time,
        sleep: { _ in }, variables: environment ?? ["USHER_ADMIN_SOCKET": daemon.path],
        userID: user, configFolder: self.folder + "/none", tools: self,
        directories: self.directories,
        output: output)
      let status = await Usherctl.run(arguments, in: environment)
      #expect(script.left == [])
      return Outcome(status: status, output: terminal.output, error: terminal.error)
    }
  }
}

extension Exchange {
  /// The `system.status` of a running daemon.
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
