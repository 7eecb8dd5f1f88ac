import Foundation

/// This machine's systemd, booted in namespaces for tests. See
/// Tests/Lifecycle/systemd-in-namespaces.
///
/// It has the machine's files under an overlay, a network with only the loopback interface, and
/// none of the machine's services. It is powered off on deinitialization, and when the test process
/// ends for any reason.
package final class BootedSystem: @unchecked Sendable {
  /// The reason why no system can be booted here; nil if one can.
  package static let obstacle: String? = {
    do {
      let check = try UsherTestKit.run(script, ["check"])
      return check.status == 0 ? nil : check.errors
    } catch { return "\(error)" }
  }()

  private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../Lifecycle/systemd-in-namespaces").standardized.path

  /// The process id of the booted systemd, as processes of this machine see it.
  package let pid: Int32
  private let place: TemporaryDirectory
  private let process = Process()
  /// The end of a socket pair. The boot script ends the system when this end is closed.
  private let processContext: FileHandle

  /// The path of the system's root directory in this machine's file system.
  package var root: String { "/proc/\(pid)/root" }

  /// Boots the system; returns when all units are started.
  ///
  /// - Parameter binding: The machine's files and directories to show inside, by their paths
  ///   inside.
  package init(binding: [String: String] = [:]) throws {
    place = try TemporaryDirectory()
    try place.write("", to: "out")
    var ends: [Int32] = [-1, -1]
    // Close-on-exec: no child process of another test may keep the socket open.
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw TestError("cannot create a socket pair")
    }
    processContext = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    let input = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    let output = FileHandle(forWritingAtPath: place.file("out"))
    process.executableURL = URL(fileURLWithPath: Self.script)
    process.arguments =
      ["boot"] + binding.flatMap { ["--bind", "\($0.value):\($0.key)"] }
    process.standardInput = input
    process.standardOutput = output
    process.standardError = output
    try process.run()
    try output?.close()
    try input.close()
    var printed = ""
    try eventually(within: 90, "the systemd in namespaces has booted") { [process, place] in
      printed = String(
        decoding: FileManager.default.contents(atPath: place.file("out")) ?? Data(), as: UTF8.self)
      guard process.isRunning else {
        throw TestError("the systemd in namespaces did not boot: \(printed)")
      }
      return printed.hasSuffix("\n") && printed.contains("up ")
    }
    // Removed now, because a system that is kept until the process ends is never deinitialized.
    place.remove()
    guard let pid = Int32(printed.dropFirst(3).dropLast()) else { throw TestError(printed) }
    self.pid = pid
  }

  /// Powers the system off; returns when nothing of it is left.
  ///
  /// - Returns: 0 on success.
  package func powerOff() throws -> Int32 {
    try processContext.close()
    try eventually(within: 60, "the systemd in namespaces has powered off") { !process.isRunning }
    return process.terminationStatus
  }
}

// MARK: - Inside

extension BootedSystem {
  /// Runs a command as root inside the system, and waits until it ends.
  ///
  /// - Returns: The standard output of the command.
  /// - Throws: ``TestError`` if the exit status is not 0.
  @discardableResult
  package func run(_ command: String..., within seconds: Double = 60) throws -> String {
    try run(command, within: seconds)
  }

  @discardableResult
  package func run(_ command: [String], within seconds: Double = 60) throws -> String {
    let done = try UsherTestKit.run(
      Self.script, ["in", "\(pid)"] + command, within: seconds)
    guard done.status == 0 else {
      throw TestError("\(command.joined(separator: " ")): \(done.status) \(done.errors)")
    }
    return done.output
  }

  /// Returns the path on this machine for a path inside the system.
  package func path(_ inside: String) -> String { root + inside }

  package func write(_ text: String, to inside: String) throws {
    let file = URL(fileURLWithPath: path(inside))
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  /// Copies a file of the machine into the system, with its mode.
  package func copy(_ outside: String, to inside: String) throws {
    let target = path(inside)
    try FileManager.default.createDirectory(
      atPath: (target as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: outside, toPath: target)
  }

  /// Returns a property of a unit, as `systemctl show` prints it.
  package func property(_ name: String, of unit: String) throws -> String {
    try run("systemctl", "show", "--value", "--property=\(name)", unit)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Returns the log of a unit.
  package func journal(of unit: String) -> String {
    (try? run("journalctl", "--no-pager", "--output=cat", "--unit=\(unit)")) ?? ""
  }

  /// Returns the path of a process's control group.
  package func controlGroup(of process: Int32) throws -> String {
    let lines = try run("cat", "/proc/\(process)/cgroup").split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix("0::") }) else {
      throw TestError("process \(process) has no control group")
    }
    return String(line.dropFirst(3))
  }

  /// Moves a process to another control group, which is created if needed.
  package func move(_ process: Int32, to group: String) throws {
    try run(
      "sh", "-c", #"mkdir -p "/sys/fs/cgroup$1" && echo "$2" >"/sys/fs/cgroup$1/cgroup.procs""#,
      "sh", group, "\(process)")
  }

  /// Runs `body` on this thread, in the network namespace of the system.
  package func inNetwork<Result>(_ body: () throws -> Result) throws -> Result {
    let ours = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
    let theirs = open("/proc/\(pid)/ns/net", O_RDONLY | O_CLOEXEC)
    defer { for descriptor in [ours, theirs] where descriptor >= 0 { close(descriptor) } }
    // Glibc's Swift module lacks setns(2).
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "setns") else {
      throw TestError("the C library has no setns(2)")
    }
    let setns = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
    guard ours >= 0, theirs >= 0, setns(theirs, 0) == 0 else {
      throw TestError("cannot enter the booted system's network namespace")
    }
    defer { _ = setns(ours, 0) }
    return try body()
  }
}
